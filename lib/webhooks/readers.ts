/**
 * What a webhook may send: what the user whom it acts for may read now, with the scopes of the credentials
 * that made or last changed it. The outbox asks when an event is recorded, the sender before each attempt.
 */
import { canRead, OPERATOR, permissionOn, type RepositoryPart, type SignedIn } from '../accounts/access.ts'
import { isOwnerOf } from '../accounts/authorize.ts'
import { AllotError } from '../errors.ts'
import { accounts, type Delivery, type Hook, repositories } from '../records/schema/index.ts'
import { hasScope, requireScopes, SCOPES, type Scope } from '../scopes.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { WebhookEvent } from './events.ts'
import { EVENTS, wantsEvents } from './recipients.ts'

/** What the payload of an event has: the scopes that reading it needs, and the part of the repository. */
interface Read {
  readonly scopes: readonly Scope[]
  readonly part?: RepositoryPart
}

const CODE: Read = { scopes: ['read:repository'], part: 'code' }
const ISSUES: Read = { scopes: ['read:repository', 'read:issue'], part: 'issues' }
const METADATA: Read = { scopes: ['read:repository'] }

const READS: Readonly<Record<WebhookEvent['event'], Read>> = {
  push: CODE,
  create: CODE,
  delete: CODE,
  fork: METADATA,
  repository: METADATA,
  issues: ISSUES,
  issue_comment: ISSUES,
  release: { ...METADATA, part: 'releases' },
  package: { scopes: ['read:package'] },
  // The scope of the webhook's own routes includes it.
  quota: { scopes: [] },
  ping: { scopes: [] },
}

type EventName = keyof typeof READS

/** The scopes that reading everything needs that a webhook may send; one of a repository gets no packages. */
export const scopesOfHook = (hook: Hook): readonly Scope[] => {
  const possible = EVENTS.filter((event) => hook.scope !== 'repository' || event !== 'package')
  const chosen = possible.filter((event) => wantsEvents({ ...hook, active: true }, event))
  return [...new Set(chosen.flatMap((event) => READS[event].scopes))]
}

/** Scopes of credentials, as a webhook keeps them. */
export const keptScopes = ({ scopes }: { readonly scopes?: ReadonlySet<string> | undefined }): string[] =>
  scopes === undefined ? ['all'] : SCOPES.filter((scope) => scopes.has(scope))

/** The scopes that limit what a webhook sends. */
export const scopesOf = ({ scopes = ['all'] }: Pick<Hook, 'scopes'>): ReadonlySet<string> => new Set(scopes)

const TAKE_OVER = 'change the webhook, and it acts for you'
const OFF = {
  user: `the user who made or last changed the webhook is disabled or deleted: ${TAKE_OVER}`,
  repository: `the user who made or last changed the webhook does not administer the repository: ${TAKE_OVER}`,
  account: `the user who made or last changed the webhook does not own the account: ${TAKE_OVER}`,
  instance: `the user who made or last changed the webhook is not an administrator: ${TAKE_OVER}`,
}

/** Whether a user may have the payload of a delivery: it shows what its creator may see, such as an email. */
const mayHave = ({ id, admin }: SignedIn, { creator }: Pick<Delivery, 'creator'>): boolean =>
  admin || id === creator

/**
 * @throws AllotError forbidden for credentials without the scopes of the payload, and for others than
 * administrators and the user for whom it was made
 */
export const requireToRead = (viewer: SignedIn, delivery: Delivery): void => {
  requireScopes(viewer, { scope: READS[delivery.event as EventName].scopes })
  if (!mayHave(viewer, delivery))
    throw new AllotError(
      'forbidden',
      'only administrators and the user whom the webhook acted for read the delivery: change the webhook, and you read its later ones',
    )
}

/** What a webhook sends; without a creator, it is about to be recorded. */
export type Sent = Pick<Delivery, 'event' | 'repositories'> & { readonly creator?: number | undefined }

/**
 * Why nothing may be sent to a webhook; undefined when it may.
 * @param sent `repositories` are those that the payload shows; of deleted ones, only those of forks count.
 * Absent: whether the webhook may send at all
 */
export const whyOff = async (
  tx: ReadTransaction,
  hook: Hook,
  { event, repositories: ids = [], creator = hook.creator }: Sent = { event: 'ping' },
): Promise<string | undefined> => {
  const reader = await readerOf(tx, hook)
  if (typeof reader === 'string') return reader
  if (!mayHave(reader, { creator })) return 'the delivery was recorded for another user, who may see more'
  const { scopes, part } = READS[event as EventName]
  const missing = scopes.find((scope) => !hasScope(reader.scopes, scope))
  if (missing !== undefined)
    return `the token that made or last changed the webhook does not have the scope ${missing}`
  const found = await repositories.byIds(tx, ids)
  // A fork can be private and another owner's: only its record tells who may read it.
  if (event === 'fork' && ids.some((id) => !found.has(id))) return 'the repository or its fork was deleted'
  for (const repository of found.values())
    if (!(await canRead(tx, reader, repository, part)))
      return 'the user who made or last changed the webhook cannot read the repository'
  return undefined
}

/** The user whom a webhook acts for, or why it is off: the user may not administer it any more. */
const readerOf = async (tx: ReadTransaction, hook: Hook): Promise<SignedIn | string> => {
  if (hook.creator === OPERATOR.id) return OPERATOR
  const account = await accounts.get(tx, [hook.creator])
  if (account?.active !== true) return OFF.user
  const reader = { id: account.id, admin: account.admin, scopes: scopesOf(hook) }
  return (await administers(tx, reader, hook)) ? reader : OFF[hook.scope]
}

const administers = async (
  tx: ReadTransaction,
  reader: SignedIn,
  { scope, target }: Hook,
): Promise<boolean> => {
  if (scope === 'instance') return reader.admin
  if (scope === 'account') return isOwnerOf(tx, reader, target)
  const repository = await repositories.get(tx, [target])
  return repository !== undefined && (await permissionOn(tx, reader, repository)).admin
}
