/** The OpenAPI document of the routes that a service has, and its parts that do not follow from them. */
import type { Identity } from '../accounts/access.ts'
import type { Route } from '../http/index.ts'
import { openApiDocument } from '../http/openapi.ts'
import { attachmentView } from './content/attachments.ts'
import { Comment } from './content/comments.ts'
import { Issue } from './content/issues.ts'
import { Release } from './content/releases.ts'
import { GPGKey, GPGKeyEmail, PublicKey } from './keys.ts'
import { organizationView } from './organizations.ts'
import { QuotaUsedRepository } from './quota/largest-repositories.ts'
import { QuotaUsedArtifact, QuotaUsedAttachment, QuotaUsedPackage } from './quota/owner-quota.ts'
import {
  QuotaExplanationInfo,
  QuotaGroupInfo,
  QuotaHistoryDay,
  QuotaInfo,
  QuotaRuleInfo,
} from './quota/schema.ts'
import { watchView } from './relations.ts'
import { Permission, Repository } from './repository-presenter.ts'
import { AccessToken } from './tokens.ts'
import { User } from './users.ts'
import { deliveryView, hookView } from './webhooks/schema.ts'

/** The schemas that the document defines once and refers to by name. */
const definitions = {
  User,
  Repository,
  Permission,
  GPGKey,
  GPGKeyEmail,
  PublicKey,
  AccessToken,
  WatchInfo: watchView.schema,
  Organization: organizationView.schema,
  Issue,
  Comment,
  Release,
  Attachment: attachmentView.schema,
  Hook: hookView.schema,
  HookDelivery: deliveryView.schema,
  QuotaInfo,
  QuotaRuleInfo,
  QuotaGroup: QuotaGroupInfo,
  QuotaExplanation: QuotaExplanationInfo,
  QuotaHistoryDay,
  QuotaUsedAttachment,
  QuotaUsedPackage,
  QuotaUsedArtifact,
  QuotaUsedRepository,
}

/** Version of the interface that Allot implements; it is not the version of Allot. */
const INTERFACE_VERSION = '1.1.1'

const INTRODUCTION = `A code-hosting API with an exact storage quota, in the wire format that Gogs, Gitea and Forgejo share.

## Authentication

Send \`Authorization: Bearer T\` or \`Authorization: token T\`, where \`T\` is an access token. Basic authentication takes a user name with
a password, or with a token instead of the password. Each operation names the scopes that a token needs: \`all\` grants every scope,
and \`write:x\` includes \`read:x\`. Missing or wrong credentials get 401, and credentials that do not suffice get 403. An administrator acts
for another user with the header \`Sudo: NAME\`.

## Paging

Lists take \`page\`, from 1, and \`limit\`. \`GET /settings/api\` has the default and the maximum of \`limit\`. The header \`X-Total-Count\` has the
number of items on all pages, and \`Link\` has the URLs of the next, last, first and previous page. A page after the last is an empty list.
Searches and lists of forks, stars, watches, follows and subscribers have neither \`X-Total-Count\` nor the link to the last page when there
are more than 1,000 items, or more than 10,000 with those that the client cannot see.

## Errors

An error has the body \`{ "message", "url" }\`: the message says which value is wrong and what to do, and the URL leads to this page. 404
has no body; it also stands for what the client must not know of, such as a private repository. 429 and 503 have the header \`Retry-After\`
with the seconds to wait, except a 503 that says that it is not known whether the write took place.

## Dates

Times are RFC 3339 in UTC with whole seconds, such as \`2026-11-21T04:09:00Z\`. A time that does not exist is \`null\`.

## Sizes

Sizes are bytes, as integers. Only \`size\` of a repository is in KiB, rounded down. A \`limit\` of -1 is unlimited. An owner uses at most 2^52 bytes:
more is refused.
`

const tags = [
  {
    name: 'quota',
    description: 'The usage and the limits of the signed-in user, and of organizations for their owners.',
  },
  {
    name: 'admin',
    description: 'For administrators: users, quota rules and groups, the ledger, the export.',
  },
  { name: 'user', description: 'Users, followers, stars, keys and tokens.' },
  { name: 'organization', description: 'Organizations, their members and their repositories.' },
  { name: 'repository', description: 'Repositories, releases and subscriptions.' },
  { name: 'issue', description: 'Issues, comments and their attachments.' },
  {
    name: 'webhook',
    description: 'Webhooks of repositories, organizations, users and the instance, and their deliveries.',
  },
  { name: 'package', description: 'Packages. Their files are at `/api/packages`, outside of this API.' },
  { name: 'miscellaneous', description: 'Markdown, and facts about the server.' },
]

/** Path parameters, by name. A route whose parameter has another meaning describes it in its schema. */
const parameters = {
  owner: { description: 'Name of the user or organization that is the owner.', example: 'alice' },
  repo: { description: 'Name of the repository, without its owner.', example: 'app' },
  username: { description: 'Name of the account. Upper and lower case are the same.', example: 'alice' },
  reponame: { description: 'Name of the repository, without its owner.', example: 'app' },
  org: { description: 'Name of the organization.', example: 'acme' },
  collaborator: { description: 'Name of the user with whom it is shared.', example: 'bob' },
  team: { description: 'Name of the team.', example: 'Developers' },
  topic: { description: 'Name of the topic.', example: 'git' },
  target: { description: 'Name of the account that may be followed.', example: 'bob' },
  branch: { description: 'Name of the branch, which may contain slashes.', example: 'main' },
  sha: { description: 'Id of the git object, or the name of a branch or tag.', example: 'main' },
  ref: { description: 'Name of the reference, or how names begin.', example: 'heads/main' },
  filepath: { description: 'Path of the file or folder in the repository.', example: 'README.md' },
  archive: { description: 'A branch, tag or commit, and the format of the archive.', example: 'main.tar.gz' },
  basehead: {
    description: 'Two branches, tags or commits with `...` between them.',
    example: 'main...topic',
  },
  tag: { description: 'Name of the tag that the release is of.', example: 'v1.0' },
  token: { description: 'Id or name of the token.', example: 'ci' },
  quotarule: { description: 'Name of the quota rule.', example: 'small' },
  quotagroup: { description: 'Name of the quota group.', example: 'free' },
  kind: { description: 'Kind of the resource.', example: 'artifacts' },
  key: {
    description: "The caller's own stable name for the resource, at most 255 bytes.",
    example: 'build-1',
  },
  type: { description: 'Type of the package.', example: 'generic' },
  name: { description: 'Name of the package.', example: 'tool' },
  version: { description: 'Version of the package.', example: '1.0.0' },
}

/**
 * The API as an OpenAPI 3.1 document.
 * @param apiUrl of the service
 * @param served the routes that it has
 * @param title name of the service
 */
export const apiDocument = (
  apiUrl: string,
  serverVersion: string,
  served: readonly Route<Identity, never>[],
  title = 'Allot',
) =>
  openApiDocument(served, apiUrl, {
    title,
    description: INTRODUCTION,
    version: INTERFACE_VERSION,
    serverVersion,
    tags,
    parameters,
    definitions,
  })
