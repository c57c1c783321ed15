import { type Check, check, type Recount } from '../integrity/index.ts'
import { deliveries, hookPayloads, hookQueues, hookStorage, hooks } from '../records/schema/index.ts'
import { sizeOf, sizeOfAnswer } from './payload-store.ts'

const storedBytes: Recount = {
  name: 'bytes of payloads and answers for account',
  async repair(tx, [creator], bytes) {
    await hookStorage.save(tx, { creator: creator as number, bytes })
    return true
  },
}

/** Checks of webhooks and their deliveries. */
export const webhookChecks: readonly Check[] = [
  check(hookPayloads, (payload, store) => store.expect(storedBytes, [payload.creator], sizeOf(payload))),
  check(hookStorage, ({ creator, bytes }, store) => store.note(storedBytes, [creator], bytes)),
  check(deliveries, async (delivery, store) => {
    const { hook: id, number, payload, state } = delivery
    store.expect(storedBytes, [delivery.creator], sizeOfAnswer(delivery))
    if (payload !== null && !(await store.has(hookPayloads, [payload])))
      store.report(`delivery ${number} of webhook ${id} has a payload that does not exist`)
    const hook = await store.load(hooks, [id])
    if (hook === undefined) return
    const queue = await store.load(hookQueues, [id])
    const last = queue?.last ?? 0
    if (last < number) store.report(`webhook ${id} has delivery ${number}, but its last number is ${last}`)
    else if (state === 'waiting' && hook.active && queue?.nextAt === null)
      store.report(
        `delivery ${number} of webhook ${id} waits, but the webhook has no time at which it is due`,
      )
  }),
]
