/**
 * The audit log: who changed which rule, group, assignment, account, password, token or webhook
 * ({@link AuditAction}), and when. A record is written in the transaction of the change. Changes of one thing
 * by one process are in the order of their commits, also within one second, unless its clock is set back.
 * Changes by several processes are ordered as well as their clocks agree.
 */
import { DAY_SECONDS, now } from './clock.ts'
import type { Page, Slice } from './records/pages.ts'
import { type AuditAction, type AuditRecord, auditRecords } from './records/schema/index.ts'
import { type Store, uniqueTime, type WriteContext } from './records/store.ts'
import type { ReadTransaction } from './storage/index.ts'

/** Who makes a change: an account, or `OPERATOR` (lib/accounts/access.ts) for the command line on a store. */
export interface Actor {
  /** Id of the account; -1 for a sender of `createQuota` who is not an owner yet. */
  readonly id: number
  /** Name of the account. */
  readonly username: string
  /**
   * False for users whose changes can be of their own organizations only: the log keeps the newest
   * {@link MAX_OF_USER}.
   */
  readonly admin?: boolean
  /** Scopes of the credentials; absent: every scope. */
  readonly scopes?: ReadonlySet<string>
  /** The administrator who acts for the account with Sudo: the one whom the log names. */
  readonly administrator?: Omit<Actor, 'administrator'>
}

/** The account that the log names: with Sudo, the administrator. */
export const realActor = (by: Actor): Omit<Actor, 'administrator'> => by.administrator ?? by

/**
 * The actor of a change of the own account: the administrator with Sudo. A user's own changes are not logged.
 */
export const actorOnOwnAccount = ({ id, administrator }: Actor): Actor | undefined =>
  administrator?.id === id ? undefined : administrator

/**
 * The members that the log records of what is changed. The pages have a word for each of them
 * (lib/web/parts/labels.ts).
 */
export type AuditMember =
  | ('limit' | 'subjects' | 'rules' | 'owners')
  | ('kind' | 'name' | 'fullName' | 'email' | 'description' | 'visibility' | 'admin' | 'active' | 'purge')
  | ('token' | 'scopes')
  | ('id' | 'host' | 'events' | 'hasSecret' | 'hasAuthorization')

/** Values by their members; or a list of names. */
export type AuditDetails = { readonly [M in AuditMember]?: unknown } | readonly string[]

/** Has the type never for each other member, so that recording one does not compile. */
type OnlyAudited<T> = T extends readonly string[]
  ? unknown
  : { readonly [M in Exclude<keyof T, AuditMember>]: never }

interface AuditedChange<B extends AuditDetails, A extends AuditDetails> {
  readonly action: AuditAction
  /** Name of the rule, the group or the account. */
  readonly subject: string
  readonly before?: (B & OnlyAudited<B>) | undefined
  readonly after?: (A & OnlyAudited<A>) | undefined
}

/** Days for which a record is kept. */
export const AUDIT_DAYS = 400

/** Maximum number of records of a user who is not an administrator, so that no user fills the log. */
export const MAX_OF_USER = 100

/** How many records are added between two removals of old ones, which cost a round trip to a database. */
const REMOVAL_INTERVAL = 20
/** Old records that one removal deletes: more than were added meanwhile, so that they do not accumulate. */
const EXPIRED_BATCH = 100
const MAX_DETAILS = 2000
/** Characters that are recorded, as a JSON string, of details longer than `MAX_DETAILS`. */
const BEGINNING = 900

/**
 * Records a change.
 * @param by undefined: the host itself, whose changes are not recorded
 */
export const recordAudit = async <B extends AuditDetails, A extends AuditDetails>(
  tx: WriteContext,
  by: Actor | undefined,
  { action, subject, before, after }: AuditedChange<B, A>,
): Promise<void> => {
  if (by === undefined) return
  const actor = realActor(by)
  if (await isRemovalDue(tx, actor))
    for (const old of await expiredRecords(tx)) await auditRecords.remove(tx, [old.at, old.nonce])
  if (actor.admin === false) await makeSpace(tx, actor.id)
  // As late as possible: other changes may have been committed while this transaction was reading.
  const { seconds: at, nonce } = uniqueTime()
  await auditRecords.add(tx, {
    at,
    nonce,
    actor: actor.id,
    actorName: actor.username,
    action,
    subject,
    before: detailsOf(before),
    after: detailsOf(after),
  })
}

/**
 * Whether to remove old records. The number of all records, which a change reads anyway, tells it for all
 * processes; a user who has as many records as a user can have does not change that number.
 */
const isRemovalDue = async (tx: ReadTransaction, { admin }: Actor): Promise<boolean> =>
  admin === false || (await auditRecords.count(tx, 'all', [])) % REMOVAL_INTERVAL === 0

/** Removes the oldest record of a user who has as many as a user can have. */
const makeSpace = async (tx: WriteContext, user: number): Promise<void> => {
  if ((await auditRecords.count(tx, 'actor', [user])) < MAX_OF_USER) return
  const [oldest] = await auditRecords.list(tx, 'actor', { prefix: [user], limit: 1 })
  if (oldest !== undefined) await auditRecords.remove(tx, [oldest.at, oldest.nonce])
}

/** The time before which records have expired. */
const cutOff = (): number => now() - AUDIT_DAYS * DAY_SECONDS

/** The oldest records that have expired, {@link EXPIRED_BATCH} at most. */
const expiredRecords = async (tx: ReadTransaction, since = cutOff()): Promise<AuditRecord[]> => {
  const oldest = (limit: number) => auditRecords.list(tx, 'at', { prefix: [], limit })
  const [first] = await oldest(1)
  if (first === undefined || first.at >= since) return []
  return (await oldest(EXPIRED_BATCH)).filter((record) => record.at < since)
}

/**
 * How many of `total` records have not expired. After a quiet time, many have, and those that have not are
 * counted.
 */
const countValid = async (tx: ReadTransaction, total: number, since: number): Promise<number> => {
  const expired = await expiredRecords(tx, since)
  if (expired.length < EXPIRED_BATCH) return total - expired.length
  let valid = 0
  for await (const _ of auditRecords.entries(tx, 'at', { prefix: [], from: [since] })) valid++
  return valid
}

const detailsOf = (value: unknown): string => {
  if (value === undefined) return ''
  const text = JSON.stringify(value)
  return text.length <= MAX_DETAILS ? text : JSON.stringify(text.slice(0, BEGINNING))
}

/** The log, the newest first, without records that are older than {@link AUDIT_DAYS}. */
export const readAudit = (store: Store, { offset, limit }: Slice): Promise<Page<AuditRecord>> =>
  store.read(async (tx) => {
    const page = await auditRecords.page(tx, 'at', { prefix: [], reverse: true, offset, limit }, 'all')
    const since = cutOff()
    return {
      total: await countValid(tx, page.total, since),
      items: page.items.filter((record) => record.at >= since),
    }
  })

/** Records that one search looks at, so that no search takes long. */
export const AUDIT_SEARCHED = 2000

interface FoundAudit {
  readonly items: readonly AuditRecord[]
  /** Whether there are older records, which the search has not looked at. */
  readonly hasOlder: boolean
}

/**
 * The records that match, the newest first, of {@link AUDIT_SEARCHED} ones.
 * @param offset number of newer records, which an earlier search has looked at
 */
export const searchAudit = (
  store: Store,
  matches: (record: AuditRecord) => boolean,
  offset: number,
): Promise<FoundAudit> =>
  store.read(async (tx) => {
    const listing = { prefix: [], reverse: true, offset, limit: AUDIT_SEARCHED + 1 }
    const records = await auditRecords.list(tx, 'at', listing)
    const since = cutOff()
    const valid = records.filter((record) => record.at >= since)
    return {
      items: valid.slice(0, AUDIT_SEARCHED).filter(matches),
      hasOlder: valid.length > AUDIT_SEARCHED,
    }
  })
