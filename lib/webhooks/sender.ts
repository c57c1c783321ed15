import { ClientBudget } from '../client-budget.ts'
import { pause } from '../records/pacing.ts'
import {
  type Delivery,
  type Hook,
  type HookPayload,
  type HookQueue,
  hookPayloads,
  hooks,
} from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { AllowedAddresses } from './addresses.ts'
import { afterAttempt, dueDelivery, dueHooks, givenUp, settle } from './delivery-queue.ts'
import { completePayload, removeExpired } from './kept.ts'
import type { Outbox } from './outbox.ts'
import { post } from './post.ts'
import { whyOff } from './readers.ts'
import { SenderLease } from './sender-lease.ts'

/** Times are milliseconds. */
interface SenderSettings {
  /** Within which a receiver must answer. */
  readonly timeout: number
  readonly maxConcurrent: number
  readonly maxConcurrentPerReceiver: number
  /** How long after the change that caused it a delivery is tried again. Each has at least one attempt. */
  readonly retryFor: number
  /** How long deliveries are kept afterwards. */
  readonly keepFor: number
}

interface SenderOptions {
  readonly store: Store
  readonly outbox: Outbox
  readonly addresses: AllowedAddresses
  readonly settings: SenderSettings
  /** Adds the commits to the payload of a push. */
  readonly addCommits: (payload: HookPayload) => Promise<string>
  readonly onError: (error: unknown, fields: object) => void
  /** Told of a push that is sent without its commits. */
  readonly onUnreadCommits: (error: unknown, fields: object) => void
}

/** Milliseconds between two looks at a shared store, for what other processes have recorded. */
const SHARED_INTERVAL_MS = 1000
const EXPIRY_INTERVAL_MS = 10 * 60_000
const FAILURE_RETRY_MS = 5000
/** Milliseconds after its first failure in which reading the commits of a push is tried again. */
const READING_MS = 60_000
const STOP_MS = 2000
/** The longest time that a timer can have: a webhook waits for its turn as long as it takes. */
const FOREVER_MS = 2 ** 31 - 1
/** How many times as long as a look took it pauses, so that many retries do not slow requests. */
const PAUSE_FACTOR = 20

/** What a webhook sends next. */
interface Next {
  readonly hook: Hook
  readonly queue: HookQueue
  readonly delivery: Delivery | undefined
  readonly payload: HookPayload | undefined
  /** Why it may not be sent. */
  readonly refusal: string | undefined
}

/**
 * Sends deliveries at least once, those of a webhook in order: the next one follows when the one before it
 * was delivered or given up. What is due is found in the store, so that another process continues after one
 * was killed; what this process records is sent at once. Webhooks of one creator or of one host hold no more
 * than their share of the connections.
 */
export class Sender {
  readonly #options: SenderOptions
  readonly #budget: ClientBudget
  readonly #lease: SenderLease
  /** Webhooks that send or wait for a turn, and what was woken meanwhile. */
  readonly #busy = new Map<number, Hook | undefined>()
  readonly #stopping = new AbortController()
  /** Ends the requests in flight. */
  readonly #ending = new AbortController()
  readonly #turns = new Set<Promise<void>>()
  readonly #timers: NodeJS.Timeout[] = []
  /** The next look for what is due, and its time on the clock of `performance.now`. */
  #look: { readonly at: number; readonly timer: NodeJS.Timeout } | undefined
  /** When the last look ended, on the same clock; infinite during one. */
  #lookedAt = 0
  #pauseMs = 0

  constructor(options: SenderOptions) {
    this.#options = options
    const { maxConcurrent: slots, maxConcurrentPerReceiver: slotsPerPlace, timeout } = options.settings
    const slotsPerClient = Math.max(1, Math.floor(slots / 4))
    const [queue, queuePerClient] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    const limits = { slots, slotsPerClient, slotsPerPlace, queue, queuePerClient, maxWaitMs: FOREVER_MS }
    this.#budget = new ClientBudget({ ...limits, message: 'the server closes' })
    this.#lease = new SenderLease(options.store, timeout)
    options.outbox.onRecorded((hook) => this.#wake(hook))
  }

  /** Sends what earlier processes left, and on a shared store what others record. */
  start(): void {
    const { store, settings } = this.#options
    const expire = () => removeExpired(store, settings.keepFor, this.#stopping.signal)
    this.#every(EXPIRY_INTERVAL_MS, expire)
    const poll = async () => {
      if (performance.now() - this.#lookedAt >= this.#pauseMs) await this.#takeDue()
    }
    if (store.driver.shared) this.#every(SHARED_INTERVAL_MS, poll)
    this.#inBackground(expire)
    this.#inBackground(() => this.#takeDue())
  }

  #every(intervalMs: number, body: () => Promise<void>): void {
    this.#timers.push(setInterval(() => this.#inBackground(body), intervalMs).unref())
  }

  /** Waits a moment for the requests in flight, then ends them; their deliveries are sent again later. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const timer of [...this.#timers, this.#look?.timer]) clearTimeout(timer)
    const end = setTimeout(() => this.#ending.abort(), STOP_MS)
    while (this.#turns.size > 0) await Promise.all(this.#turns)
    clearTimeout(end)
    await this.#lease.end().catch((error) => this.#options.onError(error, {}))
  }

  #inBackground(body: () => Promise<void>): void {
    const turn: Promise<void> = body()
      .catch((error) => this.#options.onError(error, {}))
      .finally(() => this.#turns.delete(turn))
    this.#turns.add(turn)
  }

  /** Looks for what is due after so many milliseconds at most. */
  #lookWithin(milliseconds: number): void {
    const waitMs = Math.min(Math.max(milliseconds, this.#pauseMs), FOREVER_MS)
    const at = performance.now() + waitMs
    if (this.#stopping.signal.aborted || at >= (this.#look?.at ?? Number.POSITIVE_INFINITY)) return
    clearTimeout(this.#look?.timer)
    const look = () => {
      this.#look = undefined
      this.#inBackground(() => this.#takeDue())
    }
    this.#look = { at, timer: setTimeout(look, waitMs).unref() }
  }

  /** Wakes the webhooks that have something to send, if this is the process that sends. */
  async #takeDue(): Promise<void> {
    const { store } = this.#options
    const begun = performance.now()
    this.#lookedAt = Number.POSITIVE_INFINITY
    try {
      if (!(await this.#lease.hold())) return
      const { ids, nextAt } = await store.read(dueHooks)
      const idle = ids.filter((id) => !this.#busy.has(id))
      const found = await store.read((tx) => hooks.byIds(tx, idle))
      for (const hook of found.values()) this.#wake(hook)
      if (nextAt !== undefined) this.#lookWithin(nextAt - Date.now())
    } catch (error) {
      this.#lookWithin(FAILURE_RETRY_MS)
      throw error
    } finally {
      this.#pauseMs = PAUSE_FACTOR * (performance.now() - begun)
      this.#lookedAt = performance.now()
    }
  }

  #wake(hook: Hook): void {
    if (this.#stopping.signal.aborted || !this.#lease.isHeld()) return
    if (this.#busy.has(hook.id)) this.#busy.set(hook.id, hook)
    else this.#inBackground(() => this.#serve(hook))
  }

  /** Sends what a webhook has. It takes each turn behind others. */
  async #serve(hook: Hook): Promise<void> {
    const { id } = hook
    for (let next: Hook | undefined = hook; next !== undefined; next ??= this.#busy.get(id)) {
      this.#busy.set(id, undefined)
      next = await this.#turn(next)
    }
    this.#busy.delete(id)
  }

  /** @returns the webhook when it has more to send now */
  async #turn(hook: Hook): Promise<Hook | undefined> {
    const { signal } = this.#stopping
    const place = new URL(hook.url).host
    try {
      return await this.#budget.run(`${hook.creator}`, () => this.#sendNext(hook.id, place), {
        signal,
        place,
      })
    } catch (error) {
      if (signal.aborted) return undefined
      this.#options.onError(error, { hook: hook.id })
      this.#lookWithin(FAILURE_RETRY_MS)
      return undefined
    }
  }

  async #sendNext(id: number, host: string): Promise<Hook | undefined> {
    const { store } = this.#options
    // The next look takes the lease again.
    const next = this.#lease.isHeld() ? await store.read((tx) => nextOf(tx, id)) : undefined
    if (next === undefined || new URL(next.hook.url).host !== host) return next?.hook
    const { hook, queue, delivery, payload, refusal } = next
    if (payload?.commits !== undefined && refusal === undefined) {
      const text = await this.#textOf(payload, delivery!)
      // Saved, so that each attempt and each webhook sends the same. The next turn does, since reading may
      // take longer than a lease.
      if (text !== undefined) await store.write((tx) => completePayload(tx, payload.id, text))
      return hook
    }
    const after =
      refusal === undefined ? await this.#attempt(hook, delivery, payload) : givenUp(delivery!, refusal)
    if (after === 'ended') return undefined
    const nextAt = await store.write((tx) => settle(tx, queue, after))
    if (nextAt === null) return undefined
    if (nextAt <= Date.now()) return hook
    this.#lookWithin(nextAt - Date.now())
    return undefined
  }

  /** @returns 'ended' when this process has ended the request, and not the receiver */
  async #attempt(
    hook: Hook,
    delivery: Delivery | undefined,
    payload: HookPayload | undefined,
  ): Promise<Delivery | 'ended' | undefined> {
    const { addresses, settings } = this.#options
    const { signal } = this.#ending
    if (delivery === undefined) return undefined
    if (payload === undefined) return givenUp(delivery, 'the payload of the delivery is not kept any more')
    const sent = { ...delivery, payload: payload.text }
    const outcome = await post(hook, sent, { addresses, timeoutMs: settings.timeout, signal })
    return signal.aborted && !outcome.isDelivered
      ? 'ended'
      : afterAttempt(delivery, outcome, settings.retryFor)
  }

  /**
   * The payload with its commits. A push whose commits cannot be read for a while is sent without them, as
   * later deliveries wait.
   * @returns undefined when this process stops
   */
  async #textOf(payload: HookPayload, { hook, number }: Delivery): Promise<string | undefined> {
    const { addCommits, onError, onUnreadCommits, settings } = this.#options
    const { signal } = this.#stopping
    for (let until: number | undefined; !signal.aborted; await pause(FAILURE_RETRY_MS, signal))
      try {
        return await addCommits(payload)
      } catch (error) {
        if (until !== undefined && performance.now() >= until) {
          onUnreadCommits(error, { hook, delivery: number })
          return payload.text
        }
        until ??= performance.now() + Math.min(READING_MS, settings.retryFor)
        onError(error, { hook })
      }
    return undefined
  }
}

const nextOf = async (tx: ReadTransaction, id: number): Promise<Next | undefined> => {
  const [hook, due] = [await hooks.get(tx, [id]), await dueDelivery(tx, id)]
  if (hook === undefined || due === undefined) return undefined
  const { delivery } = due
  const payload = delivery && (await hookPayloads.get(tx, [delivery.payload ?? '']))
  return { ...due, hook, payload, refusal: delivery && (await whyOff(tx, hook, delivery)) }
}
