import { StorageError } from './driver.ts'

/** Runs one thing after another, in the order in which they were asked for; one that fails stops no later one. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }
}

/** The life of one thing that is opened, used by many at once, and closed once nobody uses it any more. */
export class Lifecycle<T> {
  readonly #begin: () => Promise<T>
  readonly #finish: (thing: T) => Promise<void>
  readonly #changes = new Mutex()
  #current: T | undefined
  #users = 0
  #whenUnused: (() => void) | undefined

  constructor(begin: () => Promise<T>, finish: (thing: T) => Promise<void>) {
    this.#begin = begin
    this.#finish = finish
  }

  open(): Promise<void> {
    return this.#changes.run(async () => {
      this.#current ??= await this.#begin()
    })
  }

  close(): Promise<void> {
    const ending = this.#take()
    // Without one it may still be opening: then it is there when the turn comes.
    return this.#changes.run(async () => this.#end(ending ?? this.#take()))
  }

  /** @throws {StorageError} `closed` when it is not open. */
  async use<R>(work: (thing: T) => Promise<R>): Promise<R> {
    if (this.#current === undefined) throw new StorageError('closed', 'the store is not open')
    this.#users++
    try {
      return await work(this.#current)
    } finally {
      this.#users--
      if (this.#users === 0) this.#whenUnused?.()
    }
  }

  #take(): T | undefined {
    const current = this.#current
    this.#current = undefined
    return current
  }

  async #end(ending: T | undefined): Promise<void> {
    if (ending === undefined) return
    if (this.#users > 0)
      await new Promise<void>((resolve) => {
        this.#whenUnused = resolve
      })
    await this.#finish(ending)
  }
}
