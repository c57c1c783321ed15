/** The events, and which of them a webhook gets. */
import { invalidMember } from '../errors.ts'
import type { QuotaEventById } from '../quota/quota-events.ts'
import type {
  Comment,
  Delivery,
  Hook,
  HookPayload,
  Issue,
  PackageVersion,
  Release,
  Repository,
} from '../records/schema/index.ts'

interface Caused {
  /** Id of the account that caused it; the owner when absent. */
  readonly by?: number | undefined
}

interface InRepository extends Caused {
  /** As it is after the event; as it was for one that is deleted. */
  readonly repository: Repository
}

/** The texts before an edit. */
export interface Changes {
  /** The title before; absent when it stays. */
  readonly title?: string
  /** The text before; absent when it stays. */
  readonly body?: string
}

/** The texts that differ, as they were before. */
export const changesBetween = <T extends { title?: string; body: string }>(before: T, after: T): Changes => ({
  ...(before.title === undefined || before.title === after.title ? {} : { title: before.title }),
  ...(before.body === after.body ? {} : { body: before.body }),
})

/**
 * A reference that a push has changed; null for one that did not exist before, or does not exist any more.
 */
export interface ChangedRef {
  readonly ref: string
  readonly before: string | null
  readonly after: string | null
}

/** References of one push that are reported; a client can push any number of tags at once. */
const MAX_REFS = 100

/** The changed branches and tags that a push reports. */
export const reportedRefs = (updates: readonly ChangedRef[]): readonly ChangedRef[] =>
  updates.filter(({ ref }) => /^refs\/(?:heads|tags)\//.test(ref)).slice(0, MAX_REFS)

export type WebhookEvent =
  | (InRepository & ChangedRef & { readonly event: 'push' })
  | (InRepository & ChangedRef & { readonly event: 'create' | 'delete' })
  | (InRepository & { readonly event: 'fork'; readonly fork: Repository })
  | (InRepository & {
      readonly event: 'repository'
      readonly action: 'created' | 'deleted' | 'renamed' | 'transferred' | 'edited'
    })
  | (InRepository & {
      readonly event: 'issues'
      readonly action: 'opened' | 'edited' | 'closed' | 'reopened' | 'deleted'
      readonly issue: Issue
      readonly changes?: Changes
    })
  | (InRepository & {
      readonly event: 'issue_comment'
      readonly action: 'created' | 'edited' | 'deleted'
      readonly issue: Issue
      readonly comment: Comment
      readonly changes?: Changes
    })
  | (InRepository & {
      readonly event: 'release'
      readonly action: 'published' | 'updated' | 'deleted'
      readonly release: Release
    })
  | (Caused & {
      readonly event: 'package'
      readonly action: 'created' | 'deleted'
      /** Id of the account that owns the package. */
      readonly owner: number
      readonly version: PackageVersion
    })
  | (Readonly<QuotaEventById> & { readonly event: 'quota' })
  | (Caused & { readonly event: 'ping'; readonly hook: Hook; readonly owner?: undefined })

type EventName = WebhookEvent['event']

/** What a delivery says of its event, besides the payload. */
export type EventParts = Pick<Delivery, 'event' | 'action' | 'repositories'>

export const partsOf = (event: WebhookEvent): EventParts => ({
  event: event.event,
  action: 'action' in event ? event.action : '',
  ...('repository' in event ? { repositories: repositoriesOf(event) } : {}),
})

/** The commits that are added to the payload of a push. */
export const commitsOf = (event: WebhookEvent): Pick<HookPayload, 'commits'> =>
  event.event === 'push' && event.after !== null
    ? { commits: { repository: event.repository.id, before: event.before, after: event.after } }
    : {}

const repositoriesOf = (event: WebhookEvent & { readonly repository: Repository }): number[] =>
  event.event === 'fork' ? [event.repository.id, event.fork.id] : [event.repository.id]

/** Every event but `ping`, which the compiler checks. */
const EVENT_NAMES = {
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
} satisfies Record<Exclude<EventName, 'ping'>, true>

/** Names of the events that webhooks and listeners of hosts get. */
export const EVENTS = Object.keys(EVENT_NAMES) as (keyof typeof EVENT_NAMES)[]

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

/** Whether an event is delivered to a webhook. */
export const wants = (hook: Hook, event: WebhookEvent): boolean => {
  if (event.event === 'ping') return true
  if (!wantsEvents(hook, event.event)) return false
  const { branchFilter } = hook
  if (branchFilter === '' || !('ref' in event)) return true
  const branch = /^refs\/heads\/(.+)$/.exec(event.ref)?.[1]
  return branch === undefined || matchesPattern(branchFilter, branch)
}

/** Whether a webhook gets events of a name; its branch filter may still leave some out. */
export const wantsEvents = ({ active, events }: Hook, name: EventName): boolean =>
  active && (events.includes(name) || events.includes(ALL_EVENTS))

/**
 * Whether a pattern covers a name: `*` stands for any characters, `?` for one, and `{main,release/*}` for one
 * of several patterns; braces after the first ones are plain characters. Not a regular expression, which
 * could take exponential time.
 */
export const matchesPattern = (pattern: string, name: string): boolean => {
  const [, head = '', alternatives, tail = ''] = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(pattern) ?? []
  if (alternatives === undefined) return matchesWildcards(pattern, name)
  return alternatives.split(',').some((one) => matchesWildcards(head + one + tail, name))
}

const matchesWildcards = (pattern: string, name: string): boolean => {
  let [inPattern, inName, star, retry] = [0, 0, -1, 0]
  while (inName < name.length) {
    if (pattern[inPattern] === '*') {
      star = inPattern++
      retry = inName
    } else if (pattern[inPattern] === '?' || pattern[inPattern] === name[inName]) {
      inPattern++
      inName++
    } else if (star === -1) return false
    else {
      inPattern = star + 1
      inName = ++retry
    }
  }
  while (pattern[inPattern] === '*') inPattern++
  return inPattern === pattern.length
}
