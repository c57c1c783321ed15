import { ClientBudget } from '../client-budget.ts'
import { pauseAfter } from '../clock.ts'

/** Bytes of a body that is parsed at once. */
const SMALL = 16 * 1024
/** Bytes of a body that any number of requests may hold in memory: as many as most routes take. */
const LARGE = 1024 * 1024
/** Milliseconds of a turn that needs no pause after it. */
const SHORT_MS = 5

const message = 'too many large request bodies are being read: try again'

/**
 * Turns of clients for request bodies. Parsing one stops all other requests meanwhile, and bodies wait in memory until they are
 * complete. Invariant: between two large bodies of one client, there is time for the requests of others.
 */
export class BodyTurns {
  /** A slot is held as long as the client takes to send, so there are enough of them for many slow clients. */
  readonly #reading = new ClientBudget({ slots: 256, slotsPerClient: 4, queue: 1000, message })
  readonly #parsing = new ClientBudget({
    slots: 16,
    slotsPerClient: 1,
    queue: 1000,
    maxWaitMs: 10_000,
    message,
  })

  /**
   * Reads a body once the client may hold another one in memory.
   * @param bytes of the body at most
   * @throws AllotError unavailable when the client sends too many large bodies
   */
  read<T>(bytes: number, client: () => string, body: () => Promise<T>): Promise<T> {
    return bytes > LARGE ? this.#reading.run(client(), body) : body()
  }

  /** Parses a body in the turn of its client. @throws AllotError unavailable when too many wait */
  async parse<T>(bytes: number, client: () => string, body: () => T): Promise<T> {
    if (bytes <= SMALL) return body()
    const release = await this.#parsing.acquire(client())
    const begun = performance.now()
    try {
      return body()
    } finally {
      const ms = performance.now() - begun
      if (ms < SHORT_MS) release()
      else setTimeout(release, pauseAfter(ms)).unref()
    }
  }
}

/** What large bodies wait for, and whose turn it is. */
export interface BodyTurn {
  readonly turns: Pick<BodyTurns, 'read' | 'parse'>
  readonly client: () => string
}

/** For bodies that are small, whoever sends them. */
export const AT_ONCE: BodyTurn = {
  turns: { read: (_bytes, _client, body) => body(), parse: async (_bytes, _client, body) => body() },
  client: () => '',
}
