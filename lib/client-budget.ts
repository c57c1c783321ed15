import { AllotError } from './errors.ts'

export interface ClientBudgetOptions {
  /** Maximum number of tasks that run at once, of all clients together. */
  slots: number
  /** Maximum for one client; half of the slots, and at least 1, when absent. */
  slotsPerClient?: number
  /** Maximum for one place, such as the host that tasks connect to, of all clients; absent: no limit. */
  slotsPerPlace?: number
  /** Maximum number of waiting tasks, of all clients together. */
  queue: number
  /** Maximum for one client; half of the queue, and at least 1, when absent. */
  queuePerClient?: number
  /** Milliseconds that a task may wait for a slot; 1500 when absent. */
  maxWaitMs?: number
  /** Message of the error that a refused client gets. */
  message: string
}

/** How one task waits for its slot. */
export type AcquireOptions = { signal?: AbortSignal | undefined; maxWaitMs?: number; place?: string }

/** A refused client must get its 503 within 2 seconds. */
const MAX_WAIT_MS = 1500

/** Waiting tasks of a client that are looked at, to find one whose place has a free slot. */
const MAX_LOOKS = 50

interface Waiter {
  readonly client: string
  readonly place: string
  start(): void
  refuse(): void
}

/** The work of one client; it is deleted when it is empty. */
interface Share {
  running: number
  readonly waiters: Waiter[]
}

/**
 * Shares one scarce resource fairly among clients. A client holds at most its share of the slots and of the
 * queue, free slots go to the waiting clients in turn, and a full queue drops the last waiter of the client
 * that has the most. Invariant: however many tasks one client starts, other clients wait only for tasks that
 * are already running.
 */
export class ClientBudget {
  readonly #options: Required<ClientBudgetOptions>
  /** The share of each client, in the order in which clients are served next. */
  readonly #shares = new Map<string, Share>()
  readonly #runningAt = new Map<string, number>()
  #running = 0
  #waiting = 0

  constructor(options: ClientBudgetOptions) {
    const { slots, queue } = options
    const shares = { slotsPerClient: half(slots), queuePerClient: half(queue) }
    this.#options = { ...shares, slotsPerPlace: slots, maxWaitMs: MAX_WAIT_MS, ...options }
  }

  /**
   * Waits for a slot.
   * @param client a signed-in user or an address, as `RouteRequest.client` names it
   * @param options.signal ends the wait when the client disconnects
   * @param options.maxWaitMs in the place of the budget's
   * @param options.place whose slots are limited, too
   * @returns a function that releases the slot; further calls do nothing
   * @throws AllotError unavailable with `retryAfter`: at once when the queue is full, after `maxWaitMs`
   * otherwise
   */
  async acquire(client: string, options: AcquireOptions = {}): Promise<() => void> {
    const { signal, place = '' } = options
    if (signal?.aborted) throw this.#unavailable()
    const share = this.#shareOf(client)
    const { slots, slotsPerClient } = this.#options
    if (this.#running < slots && share.running < slotsPerClient && this.#hasSlotAt(place))
      this.#take(share, place)
    else if (this.#hasPlace(share)) await this.#wait(client, options)
    else {
      this.#deleteIfEmpty(client, share)
      throw this.#unavailable()
    }
    let isHeld = true
    return () => {
      if (isHeld) this.#release(client, place)
      isHeld = false
    }
  }

  /**
   * Runs `body` in a slot.
   * @throws AllotError unavailable, as `acquire` does
   */
  async run<T>(client: string, body: () => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    const release = await this.acquire(client, options)
    try {
      return await body()
    } finally {
      release()
    }
  }

  /** Number of running tasks, of one client or of all. */
  running(client?: string): number {
    return client === undefined ? this.#running : (this.#shares.get(client)?.running ?? 0)
  }

  /** Number of waiting tasks, of one client or of all. */
  waiting(client?: string): number {
    return client === undefined ? this.#waiting : (this.#shares.get(client)?.waiters.length ?? 0)
  }

  #hasSlotAt(place: string): boolean {
    return (this.#runningAt.get(place) ?? 0) < this.#options.slotsPerPlace
  }

  #take(share: Share, place: string): void {
    this.#running++
    share.running++
    this.#runningAt.set(place, (this.#runningAt.get(place) ?? 0) + 1)
  }

  #release(client: string, place: string): void {
    const share = this.#shareOf(client)
    this.#running--
    share.running--
    const left = this.#runningAt.get(place)! - 1
    if (left === 0) this.#runningAt.delete(place)
    else this.#runningAt.set(place, left)
    this.#deleteIfEmpty(client, share)
    this.#startNext()
  }

  /** Gives the free slots to waiting clients in turn. */
  #startNext(): void {
    for (const [client, share] of this.#shares) {
      if (this.#running >= this.#options.slots) return
      const next = share.running < this.#options.slotsPerClient ? this.#firstFree(share) : undefined
      if (next === undefined) continue
      this.#dequeue(next)
      // Moves the client behind those that are still waiting for their turn.
      this.#shares.delete(client)
      this.#shares.set(client, share)
      this.#take(share, next.place)
      next.start()
    }
  }

  #firstFree({ waiters }: Share): Waiter | undefined {
    for (let looks = Math.min(waiters.length, MAX_LOOKS); looks > 0; looks--) {
      const first = waiters[0]!
      if (this.#hasSlotAt(first.place)) return first
      // Next time, others are looked at first.
      waiters.push(waiters.shift()!)
    }
    return undefined
  }

  /**
   * Whether a client may wait. Drops the last waiter of a client with more waiters when the queue is full.
   */
  #hasPlace({ waiters }: Share): boolean {
    if (waiters.length >= this.#options.queuePerClient) return false
    if (this.#waiting < this.#options.queue) return true
    let largest: Share | undefined
    for (const share of this.#shares.values())
      if (share.waiters.length > (largest?.waiters.length ?? 0)) largest = share
    if (largest === undefined || largest.waiters.length <= waiters.length + 1) return false
    largest.waiters.at(-1)!.refuse()
    return true
  }

  /** Resolves when the client has a slot. */
  #wait(client: string, options: AcquireOptions): Promise<void> {
    const { signal, maxWaitMs = this.#options.maxWaitMs, place = '' } = options
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', waiter.refuse)
        this.#dequeue(waiter)
        settle()
      }
      const refuse = end(() => reject(this.#unavailable()))
      const waiter: Waiter = { client, place, start: end(resolve), refuse }
      const timer = setTimeout(refuse, maxWaitMs)
      signal?.addEventListener('abort', refuse, { once: true })
      this.#shareOf(client).waiters.push(waiter)
      this.#waiting++
    })
  }

  #dequeue(waiter: Waiter): void {
    const share = this.#shares.get(waiter.client)
    const index = share?.waiters.indexOf(waiter) ?? -1
    if (share === undefined || index === -1) return
    share.waiters.splice(index, 1)
    this.#waiting--
    this.#deleteIfEmpty(waiter.client, share)
  }

  #shareOf(client: string): Share {
    const share = this.#shares.get(client) ?? { running: 0, waiters: [] }
    this.#shares.set(client, share)
    return share
  }

  #deleteIfEmpty(client: string, share: Share): void {
    if (share.running === 0 && share.waiters.length === 0) this.#shares.delete(client)
  }

  #unavailable(): AllotError {
    return new AllotError('unavailable', this.#options.message, { retryAfter: 1 })
  }
}

const half = (count: number): number => Math.max(1, Math.floor(count / 2))
