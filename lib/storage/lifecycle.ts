import { StorageError } from './driver.ts'

/** Runs callbacks one at a time, in the order of the calls. A failure does not affect later callbacks. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs a task after those before it have ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }
}

/**
 * A resource that is opened and closed repeatedly, and used concurrently: it is closed only when it is no
 * longer in use.
 */
export class Lifecycle<T> {
  readonly #acquire: () => Promise<T>
  readonly #release: (resource: T) => Promise<void>
  readonly #changes = new Mutex()
  #current: T | undefined
  /** Whether the resource was released to be acquired again, which has not succeeded yet. */
  #isRenewing = false
  #acquired: Promise<void> | undefined
  #users = 0
  #whenUnused: (() => void)[] = []

  constructor(acquire: () => Promise<T>, release: (resource: T) => Promise<void>) {
    this.#acquire = acquire
    this.#release = release
  }

  /** The resource while it is open, for what ends in the same turn of the event loop; undefined otherwise. */
  get current(): T | undefined {
    return this.#current
  }

  /** Acquires the resource unless it is there. */
  open(): Promise<void> {
    return this.#changes.run(async () => {
      this.#current ??= await this.#acquire()
    })
  }

  /**
   * Releases the resource once nothing uses it, and acquires it again. Tasks that begin meanwhile wait, and
   * each tries again after a failure.
   */
  renew(): void {
    const begin = () => {
      const current = this.#take()
      if (current === undefined) return
      this.#isRenewing = true
      const released = this.#changes.run(() => this.#release(current)).catch(() => undefined)
      this.#acquired = released.then(() => this.#acquireAgain())
      this.#acquired.catch(() => undefined)
    }
    if (this.#users === 0) begin()
    else this.#whenUnused.push(begin)
  }

  /** Releases the resource when the last use has ended. */
  close(): Promise<void> {
    this.#isRenewing = false
    const current = this.#take()
    // When the resource is still being opened, `current` is undefined now, and set when the mutex is free.
    return this.#changes.run(async () => this.#end(current ?? this.#take()))
  }

  /**
   * Runs a task with the resource.
   * @throws StorageError closed when the resource is not open
   */
  async use<R>(work: (resource: T) => Promise<R>): Promise<R> {
    if (this.#isRenewing) {
      this.#acquired ??= this.#acquireAgain()
      await this.#acquired
    }
    if (this.#current === undefined) throw new StorageError('closed', 'the store is not open')
    this.#users++
    try {
      return await work(this.#current)
    } finally {
      this.#users--
      if (this.#users === 0) for (const next of this.#whenUnused.splice(0)) next()
    }
  }

  #acquireAgain(): Promise<void> {
    const acquired = this.#changes.run(async () => {
      if (!this.#isRenewing) return
      // `open` may have acquired it since it was released.
      this.#current ??= await this.#acquire()
      this.#isRenewing = false
    })
    return acquired.finally(() => {
      this.#acquired = undefined
    })
  }

  #take(): T | undefined {
    const current = this.#current
    this.#current = undefined
    return current
  }

  async #end(resource: T | undefined): Promise<void> {
    if (resource === undefined) return
    if (this.#users > 0)
      await new Promise<void>((resolve) => {
        this.#whenUnused.push(resolve)
      })
    await this.#release(resource)
  }
}
