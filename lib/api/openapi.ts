import { openApiDocument } from '../http/index.ts'
import { VERSION } from '../version.ts'
import { Attachment } from './content/attachments.ts'
import { Comment } from './content/comments.ts'
import { Issue } from './content/issues.ts'
import { Release } from './content/releases.ts'
import { GPGKey, GPGKeyEmail } from './gpg-keys.ts'
import { routes } from './index.ts'
import { Organization } from './organizations.ts'
import { QuotaUsedArtifact, QuotaUsedAttachment, QuotaUsedPackage } from './quota/owner-quota.ts'
import { QuotaExplanationInfo, QuotaGroupInfo, QuotaInfo, QuotaRuleInfo } from './quota/schema.ts'
import { Permission, Repository } from './repository-presenter.ts'
import { PublicKey } from './keys.ts'
import { WatchInfo } from './subscriptions.ts'
import { AccessToken } from './tokens.ts'
import { User } from './users.ts'

/** The schemas that the document defines once and refers to by name. */
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

/** The API as an OpenAPI 3.1 document. @param apiUrl of the service @param served every route when absent */
export const apiDocument = (apiUrl: string, serverVersion: string, served = routes) =>
  openApiDocument(served, apiUrl, { title: 'Allot', version: INTERFACE_VERSION, serverVersion, definitions })

/** The document with the URL of a request. It is created by the first request for it: most servers never get one. */
export const documentOf = (served: typeof routes) => {
  let document: { openapi: string } | undefined
  return (apiUrl: string): { openapi: string } => {
    document ??= apiDocument(apiUrl, VERSION, served) as { openapi: string }
    return { ...document, servers: [{ url: apiUrl }] } as { openapi: string }
  }
}
