import { type Hook, hooks } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type WebhookEvent, wants } from './events.ts'

/** Webhooks that an event is delivered to: those of the repository, of the owner, and of the instance. */
export const hooksFor = async (tx: ReadTransaction, event: WebhookEvent): Promise<Hook[]> => {
  const found = await hooksAt(tx, placesOf(event))
  return found.filter((hook) => wants(hook, event))
}

type Place = readonly [scope: Hook['scope'], target: number]

/** Webhooks of repositories do not get the quota of the owner, which their administrators may not see. */
export const accountPlaces = (owner: number): Place[] => [
  ['instance', 0],
  ['account', owner],
]

const placesOf = (event: WebhookEvent): Place[] => {
  if (event.event === 'ping') return []
  if (!('repository' in event)) return accountPlaces(event.owner)
  const places = accountPlaces(event.repository.owner)
  // The webhooks of a deleted repository are deleted with it.
  const isDeleted = event.event === 'repository' && event.action === 'deleted'
  return isDeleted ? places : [...places, ['repository', event.repository.id]]
}

export const hooksAt = async (tx: ReadTransaction, places: readonly Place[]): Promise<Hook[]> => {
  const found: Hook[] = []
  for (const [scope, target] of places)
    if ((await hooks.count(tx, 'target', [scope, target])) > 0)
      found.push(...(await hooks.list(tx, 'target', { prefix: [scope, target] })))
  return found
}
