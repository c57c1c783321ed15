import { untilDone } from '../records/pacing.ts'
import {
  type Delivery,
  deliveries,
  type Hook,
  type HookPayload,
  hookPayloads,
  hooks,
} from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { AllowedAddresses } from './addresses.ts'
import { afterAttempt, givenUp, pauseAfter } from './attempts.ts'
import { HookQueue, type WaitingHook } from './hook-queue.ts'
import { Leases } from './leases.ts'
import type { Outbox } from './outbox.ts'
import { completePayload } from './payload-store.ts'
import { post } from './post.ts'
import { whyOff } from './readers.ts'
import { removeExpired } from './removal.ts'

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
  /** Adds the commits to the payload of a push; may take longer than a lease. */
  readonly addCommits: (payload: HookPayload) => Promise<string>
  readonly onError: (error: unknown, fields: object) => void
  /** Told of a push that is sent without its commits. */
  readonly onUnreadCommits: (error: unknown, fields: object) => void
}

/** Milliseconds between two looks for deliveries that another process has left. */
const SHARED_INTERVAL_MS = 60_000
const EXPIRY_INTERVAL_MS = 10 * 60_000
const FAILURE_RETRY_MS = 5000
/** Milliseconds after its first failure in which reading the commits of a push is tried again. */
const READING_MS = 60_000
const STOP_MS = 2000

const NOT_KEPT = 'the payload of the delivery is not kept any more'

/** Ids of the webhooks with waiting deliveries. Reads one of each, since a webhook can have many. */
const waitingHooks = async (tx: ReadTransaction): Promise<Set<number>> => {
  const ids = new Set<number>()
  for (let from = 0; ; ) {
    const [first] = await deliveries.list(tx, 'waiting', { prefix: [], from: [from], limit: 1 })
    if (first === undefined) return ids
    ids.add(first.hook)
    from = first.hook + 1
  }
}

/**
 * Sends deliveries at least once, those of a webhook in order: the next one follows when the one before it
 * was delivered or given up. Its progress is in the records, so that another process continues after one was
 * killed.
 */
export class Sender {
  readonly #options: SenderOptions
  readonly #queue: HookQueue
  readonly #leases: Leases
  /** Webhooks that send or wait for a turn, and what was woken meanwhile: an edit may change its host. */
  readonly #busy = new Map<number, WaitingHook | undefined>()
  /** Webhooks that wait until their next attempt. */
  readonly #paused = new Map<number, NodeJS.Timeout>()
  /** By webhook: the push whose commits could not be read, and the time of the first failure. */
  readonly #unread = new Map<number, { readonly number: number; readonly since: number }>()
  readonly #stopping = new AbortController()
  /** Ends the requests in flight. */
  readonly #ending = new AbortController()
  #timers: NodeJS.Timeout[] = []
  #turns = new Set<Promise<void>>()

  constructor(options: SenderOptions) {
    this.#options = options
    const { maxConcurrent: total, maxConcurrentPerReceiver: perHost, timeout } = options.settings
    this.#queue = new HookQueue({ total, perHost, perCreator: Math.max(1, Math.floor(total / 4)) })
    this.#leases = new Leases(options.store, timeout)
    options.outbox.onRecorded((hook) => this.#wake(hook))
  }

  /** Sends what earlier processes left; on a shared store, now and then, what killed processes left. */
  start(): void {
    const { store, settings } = this.#options
    this.#inBackground(() => this.#untilDone(() => this.#findWaiting(), {}))
    const expire = () => removeExpired(store, settings.keepFor, this.#stopping.signal)
    this.#inBackground(expire)
    this.#every(EXPIRY_INTERVAL_MS, expire)
    if (store.driver.shared) this.#every(SHARED_INTERVAL_MS, () => this.#findWaiting())
  }

  /** Waits a moment for the requests in flight, then ends them; their deliveries are sent again later. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const timer of [...this.#timers, ...this.#paused.values()]) clearTimeout(timer)
    this.#paused.clear()
    const end = setTimeout(() => this.#ending.abort(), STOP_MS)
    await Promise.all(this.#turns)
    clearTimeout(end)
    await this.#leases.endAll(this.#options.onError)
  }

  #every(intervalMs: number, body: () => Promise<void>): void {
    this.#timers.push(setInterval(() => this.#inBackground(body), intervalMs).unref())
  }

  #inBackground(body: () => Promise<void>): void {
    const turn: Promise<void> = body()
      .catch((error) => this.#options.onError(error, {}))
      .finally(() => this.#turns.delete(turn))
    this.#turns.add(turn)
  }

  #untilDone<T>(body: () => Promise<T>, fields: object): Promise<T | undefined> {
    const onError = (error: unknown) => this.#options.onError(error, fields)
    return untilDone(body, { onError, retryMs: FAILURE_RETRY_MS, signal: this.#stopping.signal })
  }

  async #findWaiting(): Promise<void> {
    const { store } = this.#options
    const found = await store.read(async (tx) => hooks.byIds(tx, await waitingHooks(tx)))
    for (const hook of found.values()) if (!this.#paused.has(hook.id)) this.#wake(hook)
  }

  #wake(hook: Hook): void {
    if (this.#stopping.signal.aborted) return
    const waiting = { id: hook.id, creator: hook.creator, host: new URL(hook.url).host }
    if (this.#busy.has(hook.id)) {
      this.#busy.set(hook.id, waiting)
      return
    }
    clearTimeout(this.#paused.get(hook.id))
    this.#paused.delete(hook.id)
    this.#busy.set(hook.id, undefined)
    this.#queue.add(waiting)
    this.#startTurns()
  }

  #startTurns(): void {
    while (!this.#stopping.signal.aborted) {
      const waiting = this.#queue.take()
      if (waiting === undefined) return
      this.#inBackground(() => this.#turn(waiting))
    }
  }

  /** Sends one delivery, and lets the webhook take its next turn behind others. */
  async #turn(waiting: WaitingHook): Promise<void> {
    const { id } = waiting
    const waitMs = await this.#sendNext(id).catch((error) => {
      this.#options.onError(error, { hook: id })
      return FAILURE_RETRY_MS
    })
    this.#queue.release(waiting)
    const woken = this.#busy.get(id)
    if (waitMs === 0 || woken !== undefined) {
      this.#busy.set(id, undefined)
      this.#queue.add(woken ?? waiting)
    } else {
      this.#busy.delete(id)
      if (waitMs !== undefined) this.#wakeLater(id, waitMs)
    }
    this.#startTurns()
  }

  #wakeLater(id: number, waitMs: number): void {
    if (this.#stopping.signal.aborted) return
    const wake = async () => {
      this.#paused.delete(id)
      const read = () => this.#options.store.read((tx) => hooks.get(tx, [id]))
      const hook = await this.#untilDone(read, { hook: id })
      if (hook !== undefined) this.#wake(hook)
    }
    this.#paused.set(id, setTimeout(() => this.#inBackground(wake), waitMs).unref())
  }

  /** @returns milliseconds until the next attempt; undefined when nothing waits */
  async #sendNext(id: number): Promise<number | undefined> {
    const { store } = this.#options
    const isHeld = this.#leases.isHeld(id)
    const next = await store.read(async (tx) => {
      const [delivery] = await deliveries.list(tx, 'waiting', { prefix: [id], limit: 1 })
      const hook = delivery && (await hooks.get(tx, [id]))
      if (hook?.active !== true) return undefined
      const payload = await hookPayloads.get(tx, [delivery!.payload ?? ''])
      const refusal = payload === undefined ? NOT_KEPT : await whyOff(tx, hook, delivery)
      return { hook, delivery: delivery!, payload, refusal }
    })
    if (next === undefined) {
      this.#unread.delete(id)
      await this.#leases.end(id)
      return undefined
    }
    const { nextAt, attempts } = next.delivery
    const waitMs = nextAt - Date.now()
    // Longer than any pause after so many attempts: the clock was set back.
    if (waitMs > 0 && waitMs <= pauseAfter(attempts)) return waitMs
    const leasedMs = await this.#leases.hold(id)
    if (leasedMs > 0) return leasedMs
    // Another process may have sent it between the read and the lease.
    if (!isHeld) return this.#sendNext(id)
    const { hook, delivery, payload } = next
    if (payload === undefined || next.refusal !== undefined) {
      await this.#save(delivery, givenUp(delivery, next.refusal ?? NOT_KEPT))
      return 0
    }
    if (payload.commits === undefined) return this.#attempt(hook, delivery, payload.text)
    await this.#complete(delivery, payload)
    // The next turn sends it: the lease may have ended meanwhile.
    return 0
  }

  async #attempt(hook: Hook, delivery: Delivery, payload: string): Promise<number | undefined> {
    const { addresses, settings } = this.#options
    const { signal } = this.#ending
    const outcome = await post(
      hook,
      { ...delivery, payload },
      { addresses, timeoutMs: settings.timeout, signal },
    )
    // Ended by the stop of this process, and not by the receiver.
    if (signal.aborted && !outcome.isDelivered) return undefined
    const saved = await this.#save(delivery, afterAttempt(delivery, outcome, settings.retryFor))
    return saved?.state === 'waiting' ? Math.max(0, saved.nextAt - Date.now()) : 0
  }

  /** Saves a completed payload before it is sent, so that each attempt sends the same. */
  async #complete(delivery: Delivery, payload: HookPayload): Promise<void> {
    const text = await this.#payloadOf(delivery, payload)
    await this.#options.store.write(async (tx) => {
      const current = await hookPayloads.get(tx, [payload.id])
      // It may have been completed for another webhook, or by another process.
      if (current?.commits !== undefined) await completePayload(tx, current, text)
    })
  }

  /**
   * The payload with its commits. A push whose commits cannot be read for a while is sent without them, as
   * later deliveries wait.
   */
  async #payloadOf({ hook, number }: Delivery, payload: HookPayload): Promise<string> {
    const { addCommits, onUnreadCommits, settings } = this.#options
    try {
      const text = await addCommits(payload)
      this.#unread.delete(hook)
      return text
    } catch (error) {
      const earlier = this.#unread.get(hook)
      if (earlier?.number !== number) {
        this.#unread.set(hook, { number, since: performance.now() })
        throw error
      }
      if (performance.now() - earlier.since < Math.min(READING_MS, settings.retryFor)) throw error
      this.#unread.delete(hook)
      onUnreadCommits(error, { hook, delivery: number })
      return payload.text
    }
  }

  /** Saves an attempt, unless the webhook is gone. After `Outbox.retryNow` meanwhile, the next stays due. */
  #save(before: Delivery, after: Delivery): Promise<Delivery | undefined> {
    return this.#options.store.write(async (tx) => {
      const current = await deliveries.get(tx, [before.hook, before.number])
      if (current?.state !== 'waiting') return undefined
      const isDue = current.nextAt !== before.nextAt && after.state !== 'delivered'
      const saved = isDue
        ? { ...after, state: current.state, finishedAt: null, nextAt: current.nextAt }
        : after
      await deliveries.save(tx, saved)
      return saved
    })
  }
}
