/** The payloads of webhooks: the JSON of events, as receivers for Gitea and Forgejo expect it. */
import { canRead } from '../../accounts/access.ts'
import { contentDetails, issueDetails, packageDetails, personFor } from '../../content/details.ts'
import { accounts, type Repository as RepositoryRecord } from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import type { Changes, WebhookEvent } from '../../webhooks/events.ts'
import type { PayloadRecipient, PresentEvent } from '../../webhooks/outbox.ts'
import { presentComment } from '../content/comments.ts'
import { presentIssue } from '../content/issues.ts'
import { presentPackage } from '../content/packages.ts'
import { presentRelease } from '../content/releases.ts'
import { presentRepositories, type Repository } from '../repository-presenter.ts'
import type { Recipient } from '../route.ts'
import { presentUser, type User } from '../users.ts'
import { hookView } from './schema.ts'

/** The id that stands for no object. */
const NO_OBJECT = '0'.repeat(40)

/** The members of the union that may have the name. */
type Event<Name extends WebhookEvent['event'], E = WebhookEvent> = E extends { event: infer N }
  ? Name & N extends never
    ? never
    : E
  : never

/** @returns undefined when the recipient cannot see what the event is about */
type PayloadOf<E extends RepositoryEvent> = (
  tx: ReadTransaction,
  event: Event<E>,
  around: Around,
  recipient: Recipient,
) => object | undefined | Promise<object | undefined>

/** The members that payloads of all events in a repository have. */
interface Around {
  readonly repository: Repository
  readonly sender: User
}

/**
 * @param settings the URLs that links begin with: those of the request that made the webhook, unless
 * `baseUrl` is set
 */
export const eventPresenter = (settings: {
  readonly baseUrl: string | undefined
  readonly basePath: string
  readonly htmlUrls: Recipient['htmlUrls']
}): PresentEvent => {
  const recipientOf = ({ viewer: user, baseUrl: own }: PayloadRecipient): Recipient => {
    const baseUrl = settings.baseUrl ?? own
    return { user, baseUrl, apiUrl: baseUrl + settings.basePath, htmlUrls: settings.htmlUrls }
  }
  return async (tx, event, to) => {
    const recipient = recipientOf(to)
    if (event.event === 'ping') return pingPayload(tx, event, recipient)
    if (event.event === 'package') return packagePayload(tx, event, recipient)
    if (event.event === 'quota') return quotaPayload(tx, event, recipient)
    return inRepository(tx, event, recipient)
  }
}

type RepositoryEvent = Exclude<WebhookEvent['event'], 'ping' | 'package' | 'quota'>

const inRepository = async (
  tx: ReadTransaction,
  event: Event<RepositoryEvent>,
  recipient: Recipient,
): Promise<object | undefined> => {
  const { repository, by = repository.owner } = event
  const [presented] = await presentRepositories(tx, recipient, [repository])
  if (presented === undefined) return undefined
  const around = { repository: presented, sender: await presentPerson(tx, recipient, by) }
  const payloadOf = PAYLOADS[event.event] as PayloadOf<RepositoryEvent>
  return payloadOf(tx, event, around, recipient)
}

const presentPerson = async (tx: ReadTransaction, recipient: Recipient, id: number): Promise<User> =>
  presentUser(await personFor(tx, recipient.user, id), recipient)

const organizationOf = async (
  tx: ReadTransaction,
  recipient: Recipient,
  { owner }: RepositoryRecord,
): Promise<User | null> => {
  const account = await accounts.get(tx, [owner])
  return account?.kind === 'organization' ? presentUser(account, recipient) : null
}

/** Without the commits, which are read from git before the payload is sent. */
const pushPayload: PayloadOf<'push'> = (_tx, { ref, before, after }, { repository, sender }) => ({
  ref,
  before: before ?? NO_OBJECT,
  after: after ?? NO_OBJECT,
  compare_url: before === null || after === null ? '' : `${repository.html_url}/compare/${before}...${after}`,
  commits: [],
  total_commits: 0,
  head_commit: null,
  repository,
  pusher: sender,
  sender,
})

const refPayload: PayloadOf<'create' | 'delete'> = (_tx, { event, ref, after }, around) => {
  const isTag = ref.startsWith('refs/tags/')
  const named = { ref: ref.replace(/^refs\/(?:heads|tags)\//, ''), ref_type: isTag ? 'tag' : 'branch' }
  return event === 'create'
    ? { sha: after ?? NO_OBJECT, ...named, ...around }
    : { ...named, pusher_type: 'user', ...around }
}

/** As on Gitea: `forkee` is the original, and `repository` the fork. */
const forkPayload: PayloadOf<'fork'> = async (tx, { fork }, { repository: forkee, sender }, recipient) => {
  if (!(await canRead(tx, recipient.user, fork))) return undefined
  const [repository] = await presentRepositories(tx, recipient, [fork])
  return { forkee, repository, sender }
}

const repositoryPayload: PayloadOf<'repository'> = async (tx, { action, repository }, around, recipient) => ({
  action,
  ...around,
  organization: await organizationOf(tx, recipient, repository),
})

const issuePayload: PayloadOf<'issues'> = async (
  tx,
  { action, repository, issue, changes },
  around,
  recipient,
) => {
  const [details] = await issueDetails(tx, recipient.user, repository, [issue])
  const presented = presentIssue(details!, recipient)
  return { action, number: issue.number, ...changed(changes), issue: presented, ...around, commit_id: '' }
}

const commentPayload: PayloadOf<'issue_comment'> = async (
  tx,
  { action, repository, issue, comment, changes },
  around,
  recipient,
) => {
  const [ofIssue] = await issueDetails(tx, recipient.user, repository, [issue])
  const [details] = await contentDetails(tx, recipient.user, repository, 'comment', [comment])
  return {
    action,
    issue: presentIssue(ofIssue!, recipient),
    comment: presentComment({ ...details!, issue }, recipient),
    ...changed(changes),
    ...around,
    is_pull: false,
  }
}

const releasePayload: PayloadOf<'release'> = async (
  tx,
  { action, repository, release },
  around,
  recipient,
) => {
  const [details] = await contentDetails(tx, recipient.user, repository, 'release', [release])
  return { action, release: presentRelease(details!, recipient), ...around }
}

/** The payload of each event in a repository. */
const PAYLOADS: { readonly [E in RepositoryEvent]: PayloadOf<E> } = {
  push: pushPayload,
  create: refPayload,
  delete: refPayload,
  fork: forkPayload,
  repository: repositoryPayload,
  issues: issuePayload,
  issue_comment: commentPayload,
  release: releasePayload,
}

const changed = (changes: Changes | undefined) =>
  changes && {
    changes: Object.fromEntries(Object.entries(changes).map(([member, from]) => [member, { from }])),
  }

const packagePayload = async (
  tx: ReadTransaction,
  { action, owner: id, version, by = id }: Event<'package'>,
  recipient: Recipient,
) => {
  const owner = await accounts.get(tx, [id])
  if (owner === undefined) return undefined
  const [details] = await packageDetails(tx, recipient.user, owner, [version])
  const organization = owner.kind === 'organization' ? presentUser(owner, recipient) : null
  const sender = await presentPerson(tx, recipient, by)
  return { action, repository: null, package: presentPackage(details!, recipient), organization, sender }
}

const quotaPayload = async (
  tx: ReadTransaction,
  { event: _, action, owner: id, rule, ...measured }: Event<'quota'>,
  recipient: Recipient,
) => {
  const owner = await accounts.get(tx, [id])
  if (owner === undefined) return undefined
  // As in the API, only administrators get the names of rules.
  const named = recipient.user?.admin === true ? { rule } : {}
  return { action, owner: presentUser(owner, recipient), ...named, ...measured }
}

const pingPayload = async (
  tx: ReadTransaction,
  { hook, by = hook.creator }: Event<'ping'>,
  recipient: Recipient,
) => ({
  zen: 'Nothing has happened: this is a test.',
  hook_id: hook.id,
  hook: hookView.present(hook, recipient),
  sender: await presentPerson(tx, recipient, by),
})
