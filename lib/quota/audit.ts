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
}

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
const DAY_SECONDS = 86_400

/** Records a change. Changes of the host itself have no actor, and are not recorded. */
export const recordAudit = async (
  tx: WriteContext,
  by: Actor | undefined,
  { action, subject, before, after }: AuditedChange,
): Promise<void> => {
  if (by === undefined) return
  const at = now()
  const oldest = await auditRecords.list(tx, 'at', { prefix: [], limit: EXPIRED_BATCH })
  for (const record of oldest)
    if (record.at < at - AUDIT_DAYS * DAY_SECONDS) await auditRecords.remove(tx, [record.at, record.nonce])
  await auditRecords.save(tx, {
    ...{ at, nonce: nextNonce(), actor: by.id, actorName: by.username },
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

const detailsOf = (value: unknown): string =>
  value === undefined ? '' : JSON.stringify(value).slice(0, MAX_DETAILS)

/** The log, the newest first, without records that are older than {@link AUDIT_DAYS}. */
export const readAudit = (store: Store, { offset, limit }: Slice): Promise<Page<AuditRecord>> =>
  store.read(async (tx) => {
    const page = await auditRecords.page(tx, 'at', { prefix: [], reverse: true, offset, limit }, 'all')
    const oldest = now() - AUDIT_DAYS * DAY_SECONDS
    return { ...page, items: page.items.filter(({ at }) => at >= oldest) }
  })
