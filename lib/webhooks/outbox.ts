import { randomUUID } from 'node:crypto'
import type { SignedIn } from '../accounts/access.ts'
import { AllotError } from '../errors.ts'
import { pick } from '../records/edits.ts'
import {
  type Delivery,
  type Hook,
  type HookPayload,
  hooks,
  type Repository,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type Content, enqueue, MAX_WAITING, makeDue } from './delivery-queue.ts'
import {
  type ChangedRef,
  commitsOf,
  type HostEvents,
  hostEvent,
  partsOf,
  reportedRefs,
  type WebhookEvent,
} from './events.ts'
import type { HostListeners } from './host-listeners.ts'
import { addPayload, makeRoom } from './kept.ts'
import { scopesOf, whyOff } from './readers.ts'
import { accountPlaces, hooksAt, hooksFor, wantsEvents } from './recipients.ts'

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

interface OutboxOptions {
  /** Whether webhooks are on. */
  readonly isOn: boolean
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
  /** Ids of the webhooks that `onFull` was told of. */
  readonly #full = new Set<number>()

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** Calls the listener with each webhook that has something to send, after the commit. */
  onRecorded(listener: (hook: Hook) => void): void {
    this.#wake = listener
  }

  /** Reports an event to the host, and records it for webhooks; without any, it costs one counter read. */
  async record(tx: WriteContext, event: WebhookEvent): Promise<void> {
    const { listeners } = this.#options
    if (event.event !== 'ping' && event.event !== 'quota' && listeners.has(event.event)) {
      const detail = await hostEvent(tx, event)
      if (detail !== undefined)
        tx.afterCommit((isCommitted) => isCommitted && listeners.notify(event.event, detail))
    }
    if (!(await this.#hasHooks(tx))) return
    const byRecipient = new Map<string, Hook[]>()
    for (const hook of await hooksFor(tx, event)) {
      if ((await whyOff(tx, hook, partsOf(event))) !== undefined) continue
      const key = JSON.stringify([recipientOf(hook), hook.scopes])
      byRecipient.set(key, [...(byRecipient.get(key) ?? []), hook])
    }
    for (const to of byRecipient.values())
      for (const hook of await this.#deliver(tx, event, to))
        tx.afterCommit((isCommitted) => isCommitted && this.#reportFull(hook))
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
    return (await hooksAt(tx, accountPlaces(owner))).some((hook) => wantsEvents(hook, 'quota'))
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
      const { before, after } = update
      if (before === null) await this.record(tx, { event: 'create', repository, by, ...update })
      await this.record(tx, { event: after === null ? 'delete' : 'push', repository, by, ...update })
    }
  }

  /**
   * Adds a delivery with the content of another.
   * @throws AllotError conflict when too many wait
   */
  async repeat(tx: WriteContext, hook: Hook, delivery: Delivery): Promise<Delivery> {
    const content = pick(delivery, ['event', 'action', 'payload', 'repositories'])
    const added = await this.#add(tx, hook, content, pick(delivery, ['uuid', 'number']))
    if (added === undefined) throw tooMany()
    return added
  }

  /**
   * Adds a delivery for one webhook alone.
   * @throws AllotError conflict when too many wait
   */
  async test(tx: WriteContext, hook: Hook, event: WebhookEvent): Promise<void> {
    if ((await this.#deliver(tx, event, [hook])).length > 0) throw tooMany()
  }

  /** Tries the waiting delivery at once, or after the attempt in progress. */
  async retryNow(tx: WriteContext, hook: Hook): Promise<void> {
    await makeDue(tx, hook)
    tx.afterCommit(() => this.#wake(hook))
  }

  async #hasHooks(tx: ReadTransaction): Promise<boolean> {
    return this.#options.isOn && (await hooks.count(tx, 'all', [])) > 0
  }

  /**
   * Adds deliveries that share a payload, and the payload.
   * @param to webhooks that send the same
   * @returns those that get none, since too many wait, or there is no room for the payload
   */
  async #deliver(tx: WriteContext, event: WebhookEvent, to: readonly Hook[]): Promise<readonly Hook[]> {
    const recipient = recipientOf(to[0]!)
    const presented = await this.#options.present(tx, event, recipient)
    const text = presented && JSON.stringify(presented)
    if (text === undefined) return []
    if (text.length > MAX_PAYLOAD) {
      tx.afterCommit((isCommitted) => isCommitted && this.#options.onTooLarge(event.event, text.length))
      return []
    }
    const id = randomUUID()
    const payload: HookPayload = { id, creator: recipient.viewer.id, text, ...commitsOf(event) }
    if (!(await makeRoom(tx, payload))) return to
    const full: Hook[] = []
    for (const hook of to)
      if ((await this.#add(tx, hook, { ...partsOf(event), payload: id })) === undefined) full.push(hook)
    if (full.length < to.length) await addPayload(tx, payload)
    return full
  }

  /** @returns undefined when too many wait */
  async #add(
    tx: WriteContext,
    hook: Hook,
    content: Content,
    repeated?: Pick<Delivery, 'uuid' | 'number'>,
  ): Promise<Delivery | undefined> {
    const delivery = await enqueue(tx, hook, content, repeated)
    if (delivery !== undefined)
      tx.afterCommit(() => {
        this.#full.delete(hook.id)
        this.#wake(hook)
      })
    return delivery
  }

  #reportFull(hook: Hook): void {
    if (!this.#full.has(hook.id)) this.#options.onFull(hook)
    this.#full.add(hook.id)
  }
}

/** Webhooks of the instance see everything, as administrators do; others see what their creator sees. */
const recipientOf = (hook: Hook): PayloadRecipient => ({
  viewer: { id: hook.creator, admin: hook.scope === 'instance', scopes: scopesOf(hook) },
  baseUrl: hook.baseUrl,
})

const tooMany = () =>
  new AllotError(
    'conflict',
    `more than ${MAX_WAITING} deliveries of the webhook wait, or too many bytes: change the webhook, which has the next one sent at once, or delete the webhook`,
  )
