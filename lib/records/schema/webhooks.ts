/** Webhooks and their deliveries (lib/webhooks). */
import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { count, id, integer, seconds } from '../fields.ts'

/**
 * The events that a webhook gets: those of a repository, of everything that an account owns, or of the whole
 * instance.
 */
export const HookScope = v.picklist(['repository', 'account', 'instance'])
export type HookScope = v.InferOutput<typeof HookScope>

/** The APIs that a receiver may expect. */
export const HookType = v.picklist(['gitea', 'gogs', 'forgejo'])

const Hook = v.object({
  id,
  scope: HookScope,
  /** Id of the repository or the account; 0 for the instance. */
  target: count,
  /** Id of the account that made or last changed it: payloads have what this account can read. */
  creator: count,
  /** Scopes of the credentials that made or last changed it, which limit what payloads have; absent: all. */
  scopes: v.optional(v.array(v.string())),
  /**
   * Which of them clients chose. It is only shown: `post` (lib/webhooks/post.ts) sends the same to all of
   * them.
   */
  type: HookType,
  url: v.string(),
  contentType: v.picklist(['json', 'form']),
  /** Key of the signatures; empty: nothing is signed. No response has it. */
  secret: v.string(),
  /** Value of the header `Authorization`; empty: none. No response has it. */
  authorization: v.string(),
  events: v.array(v.string()),
  /** Pattern of the branches whose pushes are delivered; empty: all. */
  branchFilter: v.string(),
  active: v.boolean(),
  /**
   * URL of the service in the request that made it. URLs in payloads begin with it, unless an option sets
   * another.
   */
  baseUrl: v.string(),
  createdAt: seconds,
  updatedAt: seconds,
})
/** A webhook, as the store has it. */
export type Hook = v.InferOutput<typeof Hook>

export const hooks = new Collection({
  name: 'hook',
  schema: Hook,
  id: (hook) => [hook.id],
  numbers: { sequence: 'hook' },
  ordered: { target: (hook) => [hook.scope, hook.target] },
  counted: { target: (hook) => [hook.scope, hook.target], all: () => [] },
  belongsTo: [
    { to: 'account', by: 'target', within: ['account'] },
    { to: 'repository', by: 'target', within: ['repository'] },
  ],
})

const Delivery = v.object({
  hook: id,
  /** Numbers of a webhook's deliveries are in the order in which their transactions were committed. */
  number: id,
  /** Sent as `X-Gitea-Delivery`; a repetition has the same. */
  uuid: v.string(),
  event: v.string(),
  /** The action, such as `opened`; empty for events of one kind. */
  action: v.string(),
  /** Id of the account that the webhook acted for when it was recorded. */
  creator: count,
  /** Id of the payload; null when it is not kept any more. */
  payload: v.nullable(v.string()),
  /** Ids of the repositories that the payload shows; absent: none. */
  repositories: v.optional(v.array(id)),
  /** Number of the delivery that this one repeats; null for others. */
  repeats: v.nullable(id),
  state: v.picklist(['waiting', 'delivered', 'failed']),
  attempts: count,
  /** Time of the next attempt, in milliseconds since 1970; 0 before the first one. */
  nextAt: integer,
  createdAt: seconds,
  /** When it was delivered or given up; null while it waits. */
  finishedAt: v.nullable(seconds),
  /** Milliseconds of the last attempt. */
  duration: v.nullable(count),
  /** Status of the last answer; null when there was none. */
  status: v.nullable(count),
  /** Beginning of the last answer. */
  answer: v.string(),
  /** Why the last attempt failed; empty otherwise. */
  error: v.string(),
})
/** One event for one webhook. */
export type Delivery = v.InferOutput<typeof Delivery>

export const deliveries = new Collection({
  name: 'delivery',
  schema: Delivery,
  id: (delivery) => [delivery.hook, delivery.number],
  ordered: {
    hook: (delivery) => [delivery.hook, delivery.number],
    waiting: (delivery) => (delivery.state === 'waiting' ? [delivery.hook, delivery.number] : undefined),
    finished: (delivery) => (delivery.finishedAt === null ? undefined : [delivery.finishedAt]),
    /** Finished ones that have their payload still, by creator. */
    kept: ({ creator, finishedAt, payload }) =>
      finishedAt === null || payload === null ? undefined : [creator, finishedAt],
  },
  counted: {
    hook: (delivery) => [delivery.hook],
    payload: ({ payload }) => (payload === null ? undefined : [payload]),
  },
  belongsTo: [{ to: 'hook', by: 'hook' }],
})

const HookPayload = v.object({
  /** A UUID. */
  id: v.string(),
  /** Id of the account that the webhooks act for which send it. */
  creator: count,
  /** JSON. */
  text: v.string(),
  /** Commits that the text does not have yet: they are read from git before the first attempt. */
  commits: v.optional(v.object({ repository: id, before: v.nullable(v.string()), after: v.string() })),
})
export type HookPayload = v.InferOutput<typeof HookPayload>

/** What is sent, once for all webhooks that send the same. */
export const hookPayloads = new Collection({
  name: 'hookPayload',
  schema: HookPayload,
  id: (payload) => [payload.id],
})

const HookStorage = v.object({
  creator: count,
  /** Bytes of the texts of the payloads, and of the answers. */
  bytes: count,
})

/** What the payloads and answers of the webhooks take that act for an account. */
export const hookStorage = new Collection({
  name: 'hookStorage',
  schema: HookStorage,
  id: (storage) => [storage.creator],
})

const HookQueue = v.object({
  hook: id,
  /** Number of the last delivery. */
  last: count,
  /** When the first waiting delivery is due, in milliseconds since 1970; null while none may be sent. */
  nextAt: v.nullable(integer),
})
export type HookQueue = v.InferOutput<typeof HookQueue>

/** The numbers of deliveries, apart from the webhooks, since every event changes them, and what is due. */
export const hookQueues = new Collection({
  name: 'hookQueue',
  schema: HookQueue,
  id: (queue) => [queue.hook],
  ordered: { due: ({ nextAt }) => (nextAt === null ? undefined : [nextAt]) },
  belongsTo: [{ to: 'hook', removed: 'now' }],
})

const HookLease = v.object({
  /** What the process does; `send` is the only one. */
  task: v.string(),
  /** Name of the process. */
  holder: v.string(),
  /** Milliseconds since 1970. */
  until: integer,
})

/** Which process of a shared store sends. */
export const hookLeases = new Collection({
  name: 'hookLease',
  schema: HookLease,
  id: (lease) => [lease.task],
})
