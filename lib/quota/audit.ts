/** The log of changes that people make to rules, groups, assignments and accounts, in the transaction of the change. */
import { randomBytes } from 'node:crypto'
import { now } from '../clock.ts'
import type { Page, Slice } from '../records/collection.ts'
import { type AuditAction, type AuditRecord, auditRecords } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'

/** Who makes a change. */
export interface Actor {
  /** Id of the account. */
  readonly id: number
  /** Its name. */
  readonly username: string
  /** The administrator who acts for the account with Sudo: the one whom the log names. */
  readonly administrator?: { readonly id: number; readonly username: string }
}

/** Who really makes a change: with Sudo, the administrator. */
export const realActor = (by: Actor): Omit<Actor, 'administrator'> => by.administrator ?? by

interface AuditedChange {
  readonly action: AuditAction
  /** Name of the rule, the group or the account. */
  readonly subject: string
  readonly before?: unknown
  readonly after?: unknown
}

/** Days for which a record is kept. */
export const AUDIT_DAYS = 400

/** Old records that each new one removes, so that they do not accumulate. */
const EXPIRED_BATCH = 5
const MAX_DETAILS = 2000
/** Characters of details that are too long, of which a JSON string with the beginning is recorded. */
const BEGINNING = 900
const DAY_SECONDS = 86_400

/** Records a change. Changes of the host itself have no actor, and are not recorded. */
export const recordAudit = async (
  tx: WriteContext,
  by: Actor | undefined,
  { action, subject, before, after }: AuditedChange,
): Promise<void> => {
  if (by === undefined) return
  const actor = realActor(by)
  // Both times before anything is awaited, so that they are of one moment.
  const [at, nonce] = [now(), nextNonce()]
  const oldest = await auditRecords.list(tx, 'at', { prefix: [], limit: EXPIRED_BATCH })
  for (const record of oldest)
    if (record.at < at - AUDIT_DAYS * DAY_SECONDS) await auditRecords.remove(tx, [record.at, record.nonce])
  await auditRecords.save(tx, {
    ...{ at, nonce, actor: actor.id, actorName: actor.username },
    ...{ action, subject, before: detailsOf(before), after: detailsOf(after) },
  })
}

let records = 0

/** Orders the records of one second: by milliseconds, then by their number; the rest tells processes apart. */
const nextNonce = (): string => {
  records = (records + 1) % 0x10000
  const digits = (number: number, length: number) => number.toString(16).padStart(length, '0')
  return digits(Date.now() % 1000, 3) + digits(records, 4) + randomBytes(3).toString('hex').slice(0, 5)
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
    const oldest = now() - AUDIT_DAYS * DAY_SECONDS
    return { ...page, items: page.items.filter(({ at }) => at >= oldest) }
  })
