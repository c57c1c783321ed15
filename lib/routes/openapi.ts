import { openApiDocument } from '../http/index.ts'
import { Attachment } from '../resources/attachment.ts'
import { Comment, Issue } from '../resources/issue.ts'
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
import { Release } from '../resources/release.ts'
import { Permission, Repository } from '../resources/repository.ts'
import { AccessToken } from '../resources/token.ts'
import { User } from '../resources/user.ts'
import { WatchInfo } from '../resources/watch.ts'
import { VERSION } from '../version.ts'
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
  Issue,
  Comment,
  Release,
  Attachment,
  QuotaInfo,
  QuotaRuleInfo,
  QuotaGroup: QuotaGroupInfo,
  QuotaExplanation: QuotaExplanationInfo,
  QuotaUsedAttachment,
  QuotaUsedPackage,
  QuotaUsedArtifact,
}

/** "The interface description carries version 1.1.1." */
const INTERFACE_VERSION = '1.1.1'

/** The API as an OpenAPI 3.1 document. @param apiUrl where it is served. @param served the whole API when absent */
export const apiDocument = (apiUrl: string, serverVersion: string, served = routes) =>
  openApiDocument(served, apiUrl, { title: 'Allot', version: INTERFACE_VERSION, serverVersion, definitions })

/** The same for the URL that a request came by; made when it is first asked for, which most servers never are. */
export const documentOf = (served: typeof routes) => {
  let document: { openapi: string } | undefined
  return (apiUrl: string): { openapi: string } => {
    document ??= apiDocument(apiUrl, VERSION, served) as { openapi: string }
    return { ...document, servers: [{ url: apiUrl }] } as { openapi: string }
  }
}
