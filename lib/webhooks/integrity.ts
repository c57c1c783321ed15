import { amounts, check, type Find, type IntegrityChecks, lookup, pendingJob } from '../integrity/index.ts'
import {
  accounts,
  deliveries,
  type Hook,
  hookPayloads,
  hookQueues,
  hookStorage,
  hooks,
  jobs,
  repositories,
} from '../records/schema/index.ts'
import { sizeOf } from './payload-store.ts'

const hook = lookup(hooks, ({ active }) => Number(active))
const account = lookup(accounts)
const repository = lookup(repositories)
const payload = lookup(hookPayloads)
const lastNumber = lookup(hookQueues, ({ last }) => last)
const isDue = lookup(hookQueues, ({ nextAt }) => Number(nextAt !== null))
const pendingRemoval = pendingJob('removeDeliveries')

const hasTarget = (find: Find, { scope, target }: Hook): boolean =>
  scope === 'instance' || find(scope === 'repository' ? repository : account, target) !== undefined

const checks = [
  check(hooks, (record, find, report) => {
    if (!hasTarget(find, record))
      report(`webhook ${record.id} is of ${record.scope} ${record.target}, which does not exist`)
  }),
  check(hookQueues, ({ hook: id }, find, report) => {
    if (find(hook, id) === undefined) report(`there are numbers of webhook ${id}, which does not exist`)
  }),
  check(deliveries, ({ hook: id, number, payload: sent, state }, find, report) => {
    if (sent !== null && find(payload, sent) === undefined)
      report(`delivery ${number} of webhook ${id} has a payload that does not exist`)
    if (find(hook, id) === undefined) {
      if (find(pendingRemoval, id) === undefined)
        report(`delivery ${number} is of webhook ${id}, which does not exist`)
    } else if ((find(lastNumber, id) ?? 0) < number)
      report(`webhook ${id} has delivery ${number}, but its last number is ${find(lastNumber, id) ?? 0}`)
    else if (state === 'waiting' && find(hook, id) === 1 && find(isDue, id) === 0)
      report(`delivery ${number} of webhook ${id} waits, but the webhook has no time at which it is due`)
  }),
  check(jobs, ({ kind, id }, find, report) => {
    if (kind === 'removeDeliveries' && find(hook, id) !== undefined)
      report(`a job removes the deliveries of webhook ${id}, which still exists`)
  }),
]

/** Checks of webhooks and their deliveries. */
export const webhooksIntegrity: IntegrityChecks = {
  lookups: [hook, account, repository, payload, lastNumber, isDue, pendingRemoval],
  checks,
  recounts: [
    {
      name: 'bytes of payloads for account',
      expected: [amounts(hookPayloads, (record, add) => add([record.creator], sizeOf(record)))],
      actual: [amounts(hookStorage, ({ creator, bytes }, add) => add([creator], bytes))],
      async repair(tx, [creator], bytes) {
        await hookStorage.save(tx, { creator: creator as number, bytes })
        return true
      },
    },
  ],
}
