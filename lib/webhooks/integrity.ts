import { amounts, check, type IntegrityChecks, lookup } from '../integrity/index.ts'
import { deliveries, hookPayloads, hookQueues, hookStorage, hooks } from '../records/schema/index.ts'
import { sizeOf, sizeOfAnswer } from './payload-store.ts'

const hook = lookup(hooks, ({ active }) => Number(active))
const payload = lookup(hookPayloads)
const lastNumber = lookup(hookQueues, ({ last }) => last)
const isDue = lookup(hookQueues, ({ nextAt }) => Number(nextAt !== null))

const checks = [
  check(deliveries, ({ hook: id, number, payload: sent, state }, find, report) => {
    if (sent !== null && find(payload, sent) === undefined)
      report(`delivery ${number} of webhook ${id} has a payload that does not exist`)
    if (find(hook, id) === undefined) return
    if ((find(lastNumber, id) ?? 0) < number)
      report(`webhook ${id} has delivery ${number}, but its last number is ${find(lastNumber, id) ?? 0}`)
    else if (state === 'waiting' && find(hook, id) === 1 && find(isDue, id) === 0)
      report(`delivery ${number} of webhook ${id} waits, but the webhook has no time at which it is due`)
  }),
]

/** Checks of webhooks and their deliveries. */
export const webhooksIntegrity: IntegrityChecks = {
  checks,
  recounts: [
    {
      name: 'bytes of payloads and answers for account',
      expected: [
        amounts(hookPayloads, (record, add) => add([record.creator], sizeOf(record))),
        amounts(deliveries, (record, add) => add([record.creator], sizeOfAnswer(record))),
      ],
      actual: [amounts(hookStorage, ({ creator, bytes }, add) => add([creator], bytes))],
      async repair(tx, [creator], bytes) {
        await hookStorage.save(tx, { creator: creator as number, bytes })
        return true
      },
    },
  ],
}
