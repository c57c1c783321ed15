import { randomUUID } from 'node:crypto'
import type { SignedIn } from '../accounts/access.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import { jsonOf } from '../integers.ts'
import { pick } from '../records/edits.ts'
import {
  type Delivery,
  deliveries,
  type Hook,
  type HookPayload,
  hookQueues,
  hooks,
  type Repository,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import {
  type ChangedRef,
  commitsOf,
  type EventParts,
  partsOf,
  reportedRefs,
  type WebhookEvent,
  wantsEvents,
} from './events.ts'
import { type HostEvents, hostEvent, type RecordedEvent } from './host-events.ts'
import type { HostListeners } from './host-listeners.ts'
import { addPayload, makeRoom } from './payload-store.ts'
import { scopesOf, whyOff } from './readers.ts'
import { accountPlaces, hooksAt, hooksFor } from './recipients.ts'

/** Whom a payload is made for. */
export interface PayloadRecipient {
  /** Who made the webhook; it has what this account can see. */
  readonly viewer: SignedIn
  /** URL of the service in the request that made the webhook. */
  readonly baseUrl: string
}

/** Makes the payload of an event; undefined when the recipient must not know of it. */
export type PresentEvent = (
  tx: ReadTransaction,
  event: WebhookEvent,
  to: PayloadRecipient,
) => Promise<object | undefined>

/** A payload, and whether it is in the store already. */
type NewPayload = HookPayload & { isAdded: boolean }

interface OutboxOptions {
  /** Whether webhooks are on. */
  readonly isOn: boolean
  /** Whether other processes may create webhooks in the store. */
  readonly shared: boolean
  readonly present: PresentEvent
  /** Listeners of the host, called after the commit. */
  readonly listeners: HostListeners<HostEvents>
  /** Told once of a webhook with so many waiting deliveries that its events are not recorded. */
  readonly onFull: (hook: Hook) => void
  /** Told of each event that is not recorded since its payload is above `MAX_PAYLOAD`. */
  readonly onTooLarge: (event: string, characters: number) => void
}

/** Characters of a payload that is recorded. The limits of texts keep all events below it. */
export const MAX_PAYLOAD = 4 * 1024 * 1024

/** Deliveries of one webhook that can wait; beyond it, events are not recorded. */
const MAX_WAITING = 100_000
/** How many deliveries are added between two checks of that limit. */
const CHECK_INTERVAL = 64

/**
 * The transactional outbox. The transaction that causes an event saves a delivery for each webhook that chose
 * the event, with the payload as of this moment, so none is saved for a change that did not happen. `Sender`
 * sends it afterwards. Not recorded: references above `MAX_REFS`, events of a webhook with `MAX_WAITING`
 * deliveries, and payloads above `MAX_PAYLOAD`. Invariant: the numbers of a webhook's deliveries are in the
 * order of the commits, since each transaction takes them itself.
 */
export class Outbox {
  readonly #options: OutboxOptions
  #wake: (hook: Hook) => void = () => undefined
  /** Whether it is known that there is no webhook, so that events cost nothing. */
  #isUnused = false
  /** Counts the beginning and the commit of each creation of a webhook, so that a reader notices one. */
  #creations = 0
  /** Ids of the webhooks that `onFull` was told of. */
  readonly #full = new Set<number>()

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** Calls the listener with each webhook that has something to send, after the commit. */
  onRecorded(listener: (hook: Hook) => void): void {
    this.#wake = listener
  }

  /**
   * Reports an event to the host, and records it for webhooks. Without webhooks it costs one counter read, or
   * nothing when no other process uses the store.
   */
  async record(tx: WriteContext, event: WebhookEvent): Promise<void> {
    if (event.event !== 'ping' && event.event !== 'quota') await this.#reportToHost(tx, event)
    if (!(await this.#hasHooks(tx))) return
    const payloads = new Map<string, Promise<NewPayload | undefined>>()
    for (const hook of await hooksFor(tx, event)) {
      if ((await whyOff(tx, hook, partsOf(event))) !== undefined) continue
      const recipient = recipientOf(hook)
      const key = JSON.stringify([recipient, hook.scopes])
      const payload = payloads.get(key) ?? this.#payload(tx, event, recipient)
      payloads.set(key, payload)
      const made = await payload
      if (made !== undefined && (await this.#deliver(tx, hook, event, made)) === undefined)
        tx.afterCommit((isCommitted) => isCommitted && this.#reportFull(hook))
    }
  }

  /** Whether a webhook or a listener may get a push, so that its references must be collected. */
  async isPushWatched(tx: ReadTransaction): Promise<boolean> {
    const { listeners } = this.#options
    const isHeard = (['push', 'create', 'delete'] as const).some((event) => listeners.has(event))
    return isHeard || this.#hasHooks(tx)
  }

  /** Whether a webhook gets quota events of an account. */
  async isQuotaWatched(tx: ReadTransaction, owner: number): Promise<boolean> {
    if (!(await this.#hasHooks(tx))) return false
    const found = await hooksAt(tx, accountPlaces(owner))
    return found.some((hook) => wantsEvents(hook, 'quota'))
  }

  /**
   * Records what a push has changed: a `push`, and a `create` or `delete` where a reference begins or ends.
   */
  async recordPush(
    tx: WriteContext,
    repository: Repository,
    by: number | undefined,
    updates: readonly ChangedRef[],
  ): Promise<void> {
    if (!(await this.isPushWatched(tx))) return
    for (const update of reportedRefs(updates)) {
      if (update.before === null) await this.record(tx, { event: 'create', repository, by, ...update })
      if (update.after === null) await this.record(tx, { event: 'delete', repository, by, ...update })
      else await this.record(tx, { event: 'push', repository, by, ...update })
    }
  }

  /**
   * Adds a delivery with the content of another.
   * @throws AllotError conflict when too many wait
   */
  async repeat(tx: WriteContext, hook: Hook, delivery: Delivery): Promise<Delivery> {
    const { uuid, number } = delivery
    const content = pick(delivery, ['event', 'action', 'payload', 'repositories'])
    return added(await this.#add(tx, hook, content, { uuid, number }))
  }

  /**
   * Adds a delivery for one webhook alone.
   * @throws AllotError conflict when too many wait
   */
  async test(tx: WriteContext, hook: Hook, event: WebhookEvent): Promise<void> {
    const payload = await this.#payload(tx, event, recipientOf(hook))
    if (payload !== undefined) added(await this.#deliver(tx, hook, event, payload))
  }

  /** Tries the waiting delivery at once, or after the attempt in progress, which sees the new `nextAt`. */
  async retryNow(tx: WriteContext, hook: Hook): Promise<void> {
    const [first] = await deliveries.list(tx, 'waiting', { prefix: [hook.id], limit: 1 })
    if (first === undefined) return
    await deliveries.save(tx, { ...first, nextAt: Date.now() })
    tx.afterCommit(() => this.#wake(hook))
  }

  /** Call it in each transaction that creates a webhook. */
  hookCreated(tx: WriteContext): void {
    const forget = () => {
      this.#isUnused = false
      this.#creations++
    }
    forget()
    tx.afterCommit(forget)
  }

  async #hasHooks(tx: ReadTransaction): Promise<boolean> {
    const { isOn, shared } = this.#options
    if (!isOn || this.#isUnused) return false
    const creations = this.#creations
    const hasAny = (await hooks.count(tx, 'all', [])) > 0
    // A webhook that is created meanwhile may not be in the snapshot.
    this.#isUnused = !hasAny && !shared && creations === this.#creations
    return hasAny
  }

  async #reportToHost(tx: WriteContext, event: RecordedEvent): Promise<void> {
    const { listeners } = this.#options
    if (!listeners.has(event.event)) return
    const detail = await hostEvent(tx, event)
    if (detail !== undefined)
      tx.afterCommit((isCommitted) => isCommitted && listeners.notify(event.event, detail))
  }

  async #payload(
    tx: WriteContext,
    event: WebhookEvent,
    to: PayloadRecipient,
  ): Promise<NewPayload | undefined> {
    const payload = await this.#options.present(tx, event, to)
    const text = payload && jsonOf(payload)
    if (text === undefined) return undefined
    if (text.length <= MAX_PAYLOAD)
      return { id: randomUUID(), creator: to.viewer.id, text, ...commitsOf(event), isAdded: false }
    tx.afterCommit((isCommitted) => isCommitted && this.#options.onTooLarge(event.event, text.length))
    return undefined
  }

  #reportFull(hook: Hook): void {
    if (this.#full.has(hook.id)) return
    this.#full.add(hook.id)
    this.#options.onFull(hook)
  }

  /**
   * Adds a delivery, and its payload with the first one.
   * @returns undefined when too many wait, or there is no room for the payload
   */
  async #deliver(
    tx: WriteContext,
    hook: Hook,
    event: WebhookEvent,
    made: NewPayload,
  ): Promise<Delivery | undefined> {
    const { isAdded, ...payload } = made
    if (!isAdded && !(await makeRoom(tx, payload))) return undefined
    const delivery = await this.#add(tx, hook, { ...partsOf(event), payload: payload.id })
    if (isAdded || delivery === undefined) return delivery
    await addPayload(tx, payload)
    made.isAdded = true
    return delivery
  }

  /** @returns undefined when too many wait */
  async #add(
    tx: WriteContext,
    hook: Hook,
    content: Content,
    repeated?: Pick<Delivery, 'uuid' | 'number'>,
  ): Promise<Delivery | undefined> {
    const number = ((await hookQueues.get(tx, [hook.id]))?.last ?? 0) + 1
    if (number % CHECK_INTERVAL === 0) {
      if (await isFull(tx, hook, number)) return undefined
      tx.afterCommit(() => this.#full.delete(hook.id))
    }
    await hookQueues.save(tx, { hook: hook.id, last: number })
    const delivery: Delivery = {
      hook: hook.id,
      creator: hook.creator,
      number,
      uuid: repeated?.uuid ?? randomUUID(),
      ...content,
      repeats: repeated?.number ?? null,
      state: 'waiting',
      attempts: 0,
      nextAt: 0,
      createdAt: now(),
      finishedAt: null,
      duration: null,
      status: null,
      answer: '',
      error: '',
    }
    await deliveries.save(tx, delivery)
    tx.afterCommit(() => this.#wake(hook))
    return delivery
  }
}

type Content = EventParts & Pick<Delivery, 'payload'>

/** Webhooks of the instance see everything, as administrators do; others see what their creator sees. */
const recipientOf = (hook: Hook): PayloadRecipient => ({
  viewer: { id: hook.creator, admin: hook.scope === 'instance', scopes: scopesOf(hook) },
  baseUrl: hook.baseUrl,
})

const added = (delivery: Delivery | undefined): Delivery => {
  if (delivery !== undefined) return delivery
  throw new AllotError(
    'conflict',
    `more than ${MAX_WAITING} deliveries of the webhook wait, or too many bytes: change the webhook, which has the next one sent at once, or delete the webhook`,
  )
}

const isFull = async (tx: ReadTransaction, { id }: Hook, number: number): Promise<boolean> => {
  const [first] = await deliveries.list(tx, 'waiting', { prefix: [id], limit: 1 })
  return first !== undefined && number - first.number > MAX_WAITING
}
