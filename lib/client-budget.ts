import { AllotError } from './errors.ts'

export interface ClientBudgetOptions {
  /** How much work runs at once, of all clients together. */
  slots: number
  /** How much of it may belong to one client; by default half of the slots, and at least one. */
  slotsPerClient?: number
  /** How many waiters there may be, of all clients together. */
  queue: number
  /** How many of them may belong to one client; by default half of the queue. */
  queuePerClient?: number
  /** Milliseconds that work may wait for a slot. */
  maxWaitMs?: number
  /** What a refused client is told. */
  message: string
}

/**
 * Shares one scarce resource among clients. A client holds at most its share of the slots and of the places in the queue,
 * free slots go to the waiting clients in turn, and a full queue drops the last waiter of the client that has the most.
 * So however much one client asks for, another one waits at most for work that is already running.
 */
export interface ClientBudget {
  /**
   * Waits for a slot.
   * @param client a signed-in user or an address, as `RouteRequest.client` names it
   * @param signal ends the wait when the client goes away
   * @returns a function that gives the slot back; calling it again does nothing
   * @throws AllotError unavailable with `retryAfter`, at once when no place is left, and after `maxWaitMs` at the latest
   */
  acquire(client: string, signal?: AbortSignal): Promise<() => void>
  /** Runs `work` in a slot. @throws AllotError unavailable as `acquire` does */
  run<T>(client: string, work: () => T | Promise<T>, signal?: AbortSignal): Promise<T>
  /** How many slots are taken, by one client or by all. */
  running(client?: string): number
  /** How much waits, of one client or of all. */
  waiting(client?: string): number
}

/** Below the 2 seconds within which a client must hear that it should come again. */
const MAX_WAIT_MS = 1500

interface Waiter {
  readonly client: string
  start(): void
  refuse(): void
}

/** The work of one client; it is forgotten when it has none. */
interface Share {
  running: number
  readonly waiters: Waiter[]
}

export const createClientBudget = (options: ClientBudgetOptions): ClientBudget => {
  const { slots, queue, maxWaitMs = MAX_WAIT_MS, message } = options
  const slotsPerClient = options.slotsPerClient ?? half(slots)
  const queuePerClient = options.queuePerClient ?? half(queue)
  /** In the order in which clients are served next. */
  const shares = new Map<string, Share>()
  let [running, waiting] = [0, 0]

  const shareOf = (client: string): Share => {
    const share = shares.get(client) ?? { running: 0, waiters: [] }
    shares.set(client, share)
    return share
  }
  const forgetIdle = (client: string, share: Share) => {
    if (share.running === 0 && share.waiters.length === 0) shares.delete(client)
  }
  const unavailable = () => new AllotError('unavailable', message, { retryAfter: 1 })

  const take = (share: Share) => {
    running++
    share.running++
  }
  const giveBack = (client: string) => {
    const share = shareOf(client)
    running--
    share.running--
    forgetIdle(client, share)
    startNext()
  }
  const leave = (waiter: Waiter) => {
    const share = shares.get(waiter.client)
    const index = share?.waiters.indexOf(waiter) ?? -1
    if (share === undefined || index === -1) return
    share.waiters.splice(index, 1)
    waiting--
    forgetIdle(waiter.client, share)
  }

  const startNext = () => {
    for (const [client, share] of shares) {
      if (running >= slots) return
      const [next] = share.waiters
      if (next === undefined || share.running >= slotsPerClient) continue
      leave(next)
      // Behind the clients that have waited since: each has its turn.
      shares.delete(client)
      shares.set(client, share)
      take(share)
      next.start()
    }
  }

  /** @returns whether there is a place in the queue, after making one where another client has more than this one would */
  const hasPlace = ({ waiters }: Share): boolean => {
    if (waiters.length >= queuePerClient) return false
    if (waiting < queue) return true
    let largest: Share | undefined
    for (const share of shares.values())
      if (share.waiters.length > (largest?.waiters.length ?? 0)) largest = share
    if (largest === undefined || largest.waiters.length <= waiters.length + 1) return false
    largest.waiters.at(-1)!.refuse()
    return true
  }

  const wait = (client: string, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', waiter.refuse)
        leave(waiter)
        settle()
      }
      const waiter: Waiter = { client, start: end(resolve), refuse: end(() => reject(unavailable())) }
      const timer = setTimeout(waiter.refuse, maxWaitMs)
      signal?.addEventListener('abort', waiter.refuse, { once: true })
      shareOf(client).waiters.push(waiter)
      waiting++
    })

  const acquire: ClientBudget['acquire'] = async (client, signal) => {
    if (signal?.aborted) throw unavailable()
    const share = shareOf(client)
    if (running < slots && share.running < slotsPerClient) take(share)
    else if (hasPlace(share)) await wait(client, signal)
    else {
      forgetIdle(client, share)
      throw unavailable()
    }
    let isHeld = true
    return () => {
      if (isHeld) giveBack(client)
      isHeld = false
    }
  }

  return {
    acquire,
    async run(client, work, signal) {
      const release = await acquire(client, signal)
      try {
        return await work()
      } finally {
        release()
      }
    },
    running: (client) => (client === undefined ? running : (shares.get(client)?.running ?? 0)),
    waiting: (client) => (client === undefined ? waiting : (shares.get(client)?.waiters.length ?? 0)),
  }
}

const half = (count: number): number => Math.max(1, Math.floor(count / 2))
