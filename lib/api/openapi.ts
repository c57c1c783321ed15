import { openApiDocument } from '../http/index.ts'
import { VERSION } from '../version.ts'
import { Attachment } from './content/attachment-schema.ts'
import { Comment, Issue } from './content/issue-schema.ts'
import { Release } from './content/release-schema.ts'
import { routes } from './index.ts'
import { GPGKey, GPGKeyEmail, PublicKey } from './key-schema.ts'
import { Organization } from './organization-schema.ts'
import {
  QuotaExplanationInfo,
  QuotaGroupInfo,
  QuotaInfo,
  QuotaRuleInfo,
  QuotaUsedArtifact,
  QuotaUsedAttachment,
  QuotaUsedPackage,
} from './quota/schema.ts'
import { Permission, Repository } from './repository-schema.ts'
import { AccessToken } from './token-schema.ts'
import { User } from './user-schema.ts'
import { WatchInfo } from './watch-schema.ts'

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
