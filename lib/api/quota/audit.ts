import * as v from 'valibot'
import { readAudit } from '../../audit.ts'
import type { AuditRecord } from '../../records/schema/index.ts'
import * as f from '../fields.ts'
import { adminRules } from '../route.ts'
import { resource } from '../view.ts'
import { quotaAt } from './services.ts'

const auditView = resource<AuditRecord>()({
  at: [f.Time, ({ at }) => f.timestamp(at)],
  /**
   * Who made the change; the id is 0 for the command line on the store itself, -1 for a sender of
   * `createQuota` who is not an owner yet.
   */
  actor: [
    v.object({ id: f.number(1), login: f.text('root') }),
    ({ actor: id, actorName: login }) => ({ id, login }),
  ],
  action: [f.text('rule changed'), ({ action }) => action],
  /** Name of the rule, the group or the account at that time. */
  subject: [f.text('free-total'), ({ subject }) => subject],
  /**
   * The values before and after, as JSON; empty where there are none. A JSON string is the beginning of a
   * value that is too long.
   */
  before: [f.text('{"limit":1073741824,"subjects":["size:all"]}'), ({ before }) => before],
  after: [f.text('{"limit":2147483648,"subjects":["size:all"]}'), ({ after }) => after],
})

export const auditRoutes = [
  quotaAt('/admin/audit', adminRules).list('adminListAudit', '', {
    summary:
      'Changes of rules, groups, assignments and accounts: what changed, when and by whom; the newest first',
    of: auditView,
    run: ({ page }, { store }) => readAudit(store, page),
  }),
]
