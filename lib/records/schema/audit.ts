import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { integer, seconds } from '../fields.ts'

export const AuditAction = v.picklist([
  ...['rule created', 'rule changed', 'rule deleted'],
  ...['group created', 'group changed', 'group deleted', 'groups assigned'],
  ...['account created', 'account changed', 'account deleted'],
  ...['password changed', 'password link created'],
  ...['token created', 'token revoked'],
  ...['webhook created', 'webhook changed', 'webhook deleted'],
] as const)
export type AuditAction = v.InferOutput<typeof AuditAction>

const AuditRecord = v.object({
  at: seconds,
  /** Tells records of the same second apart. */
  nonce: v.string(),
  /**
   * Id of the account that made the change; 0 for the command line on the store itself, -1 for a host's
   * sender who is not an owner yet.
   */
  actor: integer,
  actorName: v.string(),
  action: AuditAction,
  /**
   * Name of the rule, the group or the account; for a webhook, of its repository, account or instance. It
   * stays when that is deleted or renamed.
   */
  subject: v.string(),
  /** The change as JSON; empty for actions without values. */
  before: v.string(),
  after: v.string(),
})
export type AuditRecord = v.InferOutput<typeof AuditRecord>

/** The audit log (lib/audit.ts). */
export const auditRecords = new Collection({
  name: 'audit',
  schema: AuditRecord,
  id: (record) => [record.at, record.nonce],
  ordered: { at: (record) => [record.at], actor: (record) => [record.actor, record.at] },
  counted: { all: () => [], actor: (record) => [record.actor] },
})
