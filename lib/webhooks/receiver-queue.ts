interface Limits {
  /** Deliveries at a time, of all webhooks. */
  readonly total: number
  /** Deliveries to one host at a time. */
  readonly perHost: number
  /** Deliveries for webhooks of one creator at a time. */
  readonly perCreator: number
}

/** A webhook, as far as its turn depends on it. */
export interface Receiver {
  /** Id of the webhook. */
  readonly id: number
  readonly host: string
  readonly creator: number
}

/** The webhooks of one creator that have something to send. */
interface Share {
  running: number
  readonly ready: Map<number, Receiver>
}

/** Webhooks of one creator that a turn looks at, to find one whose host is free. */
const MAX_LOOKS = 50

/**
 * Decides whose turn it is to send. Creators take turns, and so do the webhooks of each. Invariant: webhooks of one creator or of
 * one host hold no more than their share of the connections, so slow receivers do not delay others.
 */
export class ReceiverQueue {
  readonly #limits: Limits
  /** By creator, in the order of their turns. */
  readonly #shares = new Map<number, Share>()
  readonly #runningByHost = new Map<string, number>()
  #running = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Adds a webhook, unless it waits already. */
  add(receiver: Receiver): void {
    this.#shareOf(receiver.creator).ready.set(receiver.id, receiver)
  }

  /** Takes the webhook whose turn it is; undefined when all that could send wait for others. Call `release` afterwards. */
  take(): Receiver | undefined {
    if (this.#running >= this.#limits.total) return undefined
    for (const [creator, share] of this.#shares) {
      const receiver = share.running < this.#limits.perCreator ? this.#firstFree(share) : undefined
      if (receiver === undefined) continue
      share.ready.delete(receiver.id)
      share.running++
      this.#running++
      this.#runningByHost.set(receiver.host, this.#runningAt(receiver.host) + 1)
      // Behind the others, whose turns come first.
      this.#shares.delete(creator)
      this.#shares.set(creator, share)
      return receiver
    }
    return undefined
  }

  release({ creator, host }: Receiver): void {
    const share = this.#shareOf(creator)
    share.running--
    this.#running--
    const atHost = this.#runningAt(host) - 1
    if (atHost === 0) this.#runningByHost.delete(host)
    else this.#runningByHost.set(host, atHost)
    if (share.running === 0 && share.ready.size === 0) this.#shares.delete(creator)
  }

  #firstFree({ ready }: Share): Receiver | undefined {
    let looks = 0
    for (const receiver of ready.values()) {
      if (this.#runningAt(receiver.host) < this.#limits.perHost) return receiver
      // Next time, others are looked at first.
      ready.delete(receiver.id)
      ready.set(receiver.id, receiver)
      if (++looks === MAX_LOOKS) return undefined
    }
    return undefined
  }

  #runningAt(host: string): number {
    return this.#runningByHost.get(host) ?? 0
  }

  #shareOf(creator: number): Share {
    const share = this.#shares.get(creator) ?? { running: 0, ready: new Map<number, Receiver>() }
    this.#shares.set(creator, share)
    return share
  }
}
