/** Which events there are, and which of them a webhook gets. */
import { invalidMember } from '../errors.ts'
import { type Hook, hooks } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type HostEvents, ownerOf, type WebhookEvent } from './events.ts'
import { matchesPattern } from './patterns.ts'

/** The compiler asks for every name. */
const EVENT_NAMES: Record<keyof HostEvents, true> = {
  push: true,
  create: true,
  delete: true,
  fork: true,
  repository: true,
  issues: true,
  issue_comment: true,
  release: true,
  package: true,
  quota: true,
}

/** Names of the events that webhooks and listeners of hosts get. */
export const EVENTS = Object.keys(EVENT_NAMES) as (keyof HostEvents)[]

/** Further names that clients of Gitea and Forgejo choose. They are stored, and Allot has no such events. */
const OTHER_EVENTS = [
  ...['issue_assign', 'issue_label', 'issue_milestone', 'issues_only', 'wiki', 'status'],
  ...['pull_request', 'pull_request_only', 'pull_request_assign', 'pull_request_label'],
  ...['pull_request_milestone', 'pull_request_comment', 'pull_request_review', 'pull_request_sync'],
  ...['pull_request_review_approved', 'pull_request_review_rejected', 'pull_request_review_comment'],
  ...['pull_request_review_request', 'pull_request_approved', 'pull_request_rejected'],
  ...['workflow_run', 'workflow_job', 'action_run_failure', 'action_run_recover', 'action_run_success'],
]

const ALL_EVENTS = '*'
const KNOWN: ReadonlySet<string> = new Set([...EVENTS, ...OTHER_EVENTS, ALL_EVENTS])

/** Whether a server of this API has an event of the name. */
export const isEvent = (name: string): boolean => KNOWN.has(name)

/** @throws AllotError invalid for a name that no server of this API has */
export const checkEvents = (events: readonly string[]): void => {
  const unknown = events.find((name) => !isEvent(name))
  if (unknown !== undefined)
    throw invalidMember(
      'events',
      `there is no event ${JSON.stringify(unknown.slice(0, 60))}; the events are ${EVENTS.join(', ')}, and * for all of them`,
    )
}

/** Whether a webhook gets events of a name; its branch filter may still leave some out. */
export const wantsEvents = ({ active, events }: Hook, name: WebhookEvent['event']): boolean =>
  active && (events.includes(name) || events.includes(ALL_EVENTS))

const wants = (hook: Hook, event: WebhookEvent): boolean => {
  if (!wantsEvents(hook, event.event)) return false
  const branch = 'ref' in event ? /^refs\/heads\/(.+)$/.exec(event.ref)?.[1] : undefined
  return hook.branchFilter === '' || branch === undefined || matchesPattern(hook.branchFilter, branch)
}

type Place = readonly [scope: Hook['scope'], target: number]

/** Webhooks of repositories do not get the quota of the owner, which their administrators may not see. */
export const accountPlaces = (owner: number): Place[] => [
  ['instance', 0],
  ['account', owner],
]

export const hooksAt = async (tx: ReadTransaction, places: readonly Place[]): Promise<Hook[]> => {
  const found: Hook[] = []
  for (const [scope, target] of places)
    if ((await hooks.count(tx, 'target', [scope, target])) > 0)
      found.push(...(await hooks.list(tx, 'target', { prefix: [scope, target] })))
  return found
}

/** Webhooks that an event is delivered to: those of the repository, of the owner, and of the instance. */
export const hooksFor = async (tx: ReadTransaction, event: WebhookEvent): Promise<Hook[]> => {
  if (event.event === 'ping') return []
  const places = accountPlaces(ownerOf(event))
  // The webhooks of a deleted repository are deleted with it.
  const isDeleted = event.event === 'repository' && event.action === 'deleted'
  if ('repository' in event && !isDeleted) places.push(['repository', event.repository.id])
  return (await hooksAt(tx, places)).filter((hook) => wants(hook, event))
}
