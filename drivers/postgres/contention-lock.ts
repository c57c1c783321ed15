import type { Connections, Session } from './connections.ts'

/** How long one process keeps the gate when others may be waiting, in milliseconds. */
const TURN = 30
/** And at the most, should it have nothing to write after all. */
const MAX_LENGTH = 500

/**
 * Where processes that are in each other's way write one after another: a row of the database that one of them locks,
 * in the order in which they came. Nothing depends on it but how often they meet: who does not get it writes all the same.
 */
export class ContentionLock {
  readonly #connections: Connections
  #leave: (() => void) | undefined
  #since = 0

  constructor(connections: Connections) {
    this.#connections = connections
  }

  async acquire(): Promise<void> {
    if (this.#leave !== undefined || this.#connections.writers < 2) return
    await new Promise<void>((entered) => {
      this.#connections
        .withWriter(async (session) => {
          await session.run({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' })
          await session.run(this.#connections.statements.gate)
          await this.#hold(session, entered)
        })
        .catch(() => undefined)
        .finally(entered)
    })
  }

  #hold(session: Session, entered: () => void): Promise<unknown> {
    this.#since = Date.now()
    const timer = setTimeout(() => this.release(false), MAX_LENGTH)
    return new Promise<void>((leave) => {
      this.#leave = leave
      entered()
    }).then(() => {
      clearTimeout(timer)
      return session.run({ text: 'COMMIT' })
    })
  }

  /** After a write: lets others have their turn once this one has lasted, or when there is nothing more to write. */
  release(hasMore: boolean): void {
    if (hasMore && Date.now() - this.#since < TURN) return
    this.#leave?.()
    this.#leave = undefined
  }
}
