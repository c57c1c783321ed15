interface Limits {
  /** Deliveries at a time, of all webhooks. */
  readonly total: number
  /** Deliveries to one host at a time. */
  readonly perHost: number
  /** Deliveries for webhooks of one creator at a time. */
  readonly perCreator: number
}

/** A webhook, as far as its turn depends on it. */
export interface WaitingHook {
  /** Id of the webhook. */
  readonly id: number
  readonly host: string
  readonly creator: number
}

/** The webhooks of one creator that have something to send. */
interface Share {
  running: number
  readonly ready: Map<number, WaitingHook>
}

/** Webhooks of one creator that a turn looks at, to find one whose host is free. */
const MAX_LOOKS = 50

/**
 * Decides whose turn it is to send. Creators take turns, and so do the webhooks of each. Invariant: webhooks
 * of one creator or of one host hold no more than their share of the connections, so slow receivers do not
 * delay others.
 */
export class HookQueue {
  readonly #limits: Limits
  /** By creator, in the order of their turns. */
  readonly #shares = new Map<number, Share>()
  readonly #runningByHost = new Map<string, number>()
  #running = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Adds a webhook; one that waits already keeps its place. */
  add(hook: WaitingHook): void {
    this.#shareOf(hook.creator).ready.set(hook.id, hook)
  }

  /**
   * Takes the webhook whose turn it is; undefined when all that could send wait for others. Call `release`
   * afterwards.
   */
  take(): WaitingHook | undefined {
    if (this.#running >= this.#limits.total) return undefined
    for (const [creator, share] of this.#shares) {
      const hook = share.running < this.#limits.perCreator ? this.#firstFree(share) : undefined
      if (hook === undefined) continue
      share.ready.delete(hook.id)
      share.running++
      this.#running++
      this.#runningByHost.set(hook.host, this.#runningAt(hook.host) + 1)
      // Behind the others, whose turns come first.
      this.#shares.delete(creator)
      this.#shares.set(creator, share)
      return hook
    }
    return undefined
  }

  release({ creator, host }: WaitingHook): void {
    const share = this.#shareOf(creator)
    share.running--
    this.#running--
    const atHost = this.#runningAt(host) - 1
    if (atHost === 0) this.#runningByHost.delete(host)
    else this.#runningByHost.set(host, atHost)
    if (share.running === 0 && share.ready.size === 0) this.#shares.delete(creator)
  }

  #firstFree({ ready }: Share): WaitingHook | undefined {
    let looks = 0
    for (const hook of ready.values()) {
      if (this.#runningAt(hook.host) < this.#limits.perHost) return hook
      // Next time, others are looked at first.
      ready.delete(hook.id)
      ready.set(hook.id, hook)
      if (++looks === MAX_LOOKS) return undefined
    }
    return undefined
  }

  #runningAt(host: string): number {
    return this.#runningByHost.get(host) ?? 0
  }

  #shareOf(creator: number): Share {
    const share = this.#shares.get(creator) ?? { running: 0, ready: new Map<number, WaitingHook>() }
    this.#shares.set(creator, share)
    return share
  }
}
