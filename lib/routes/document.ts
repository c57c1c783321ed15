import { openApiDocument } from '../http/index.ts'
import { GPGKey, GPGKeyEmail, PublicKey } from '../resources/keys.ts'
import { Organization } from '../resources/organization.ts'
import {
  QuotaExplanationInfo,
  QuotaGroupInfo,
  QuotaInfo,
  QuotaRuleInfo,
  QuotaUsedArtifact,
  QuotaUsedAttachment,
  QuotaUsedPackage,
} from '../resources/quota.ts'
import { Permission, Repository } from '../resources/repository.ts'
import { AccessToken } from '../resources/token.ts'
import { User } from '../resources/user.ts'
import { WatchInfo } from '../resources/watch.ts'
import { routes } from './index.ts'

/** The resources by the names that the API document gives them. */
const definitions = {
  User,
  Repository,
  Permission,
  GPGKey,
  GPGKeyEmail,
  PublicKey,
  AccessToken,
  WatchInfo,
  Organization,
  QuotaInfo,
  QuotaRuleInfo,
  QuotaGroup: QuotaGroupInfo,
  QuotaExplanation: QuotaExplanationInfo,
  QuotaUsedAttachment,
  QuotaUsedPackage,
  QuotaUsedArtifact,
}

/** The whole API as an OpenAPI 3.1 document. @param apiUrl where it is served. */
export const apiDocument = (apiUrl: string, version: string) =>
  openApiDocument(routes, apiUrl, { title: 'Allot', version, definitions })
