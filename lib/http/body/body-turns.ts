import { ClientBudget } from '../../client-budget.ts'
import { pauseAfter } from '../../clock.ts'
import { ClientDisconnected } from '../failure.ts'

/** Bytes of a body that is parsed at once. */
const SMALL = 16 * 1024
/** A body of at most so many bytes is read without a slot. Most routes accept no larger ones. */
const LARGE = 1024 * 1024
/** Milliseconds of a turn that needs no pause after it. */
const SHORT_MS = 5

const message = 'too many large request bodies are being read: try again'

/**
 * Turns of clients for large bodies. Parsing that of a request, or making that of a response, stops all other
 * requests meanwhile, and bodies of requests wait in memory until they are complete. Invariant: after a body
 * that took 5 ms or longer, the next body of the same client waits, so that there is time for the requests of
 * others.
 */
export class BodyTurns {
  /**
   * A slot is held as long as the client takes to send, so there are enough of them for many slow clients.
   */
  readonly #reading = new ClientBudget({ slots: 256, slotsPerClient: 4, queue: 1000, message })
  readonly #parsing = new ClientBudget({
    slots: 16,
    slotsPerClient: 1,
    queue: 1000,
    maxWaitMs: 10_000,
    message: 'too many large bodies are being parsed or made: try again',
  })

  /**
   * Reads a body once the client may hold another one in memory.
   * @param bytes of the body at most
   * @throws AllotError unavailable when the client sends too many large bodies; ClientDisconnected when it
   * leaves before its turn
   */
  async read<T>(bytes: number, sender: Sender, body: () => Promise<T>): Promise<T> {
    if (bytes <= LARGE) return body()
    const release = await turnOf(this.#reading, sender)
    try {
      return await body()
    } finally {
      release()
    }
  }

  /**
   * Parses or makes a body in the turn of its client.
   * @throws AllotError unavailable when too many wait; ClientDisconnected as `read`
   */
  async parse<T>(bytes: number, sender: Sender, body: () => T | Promise<T>): Promise<T> {
    if (bytes <= SMALL) return body()
    const release = await turnOf(this.#parsing, sender)
    const begun = performance.now()
    try {
      return await body()
    } finally {
      const ms = performance.now() - begun
      if (ms < SHORT_MS) release()
      else setTimeout(release, pauseAfter(ms)).unref()
    }
  }
}

const turnOf = async (budget: ClientBudget, { client, signal }: Sender): Promise<() => void> => {
  const leaving = signal()
  return budget.acquire(client(), { signal: leaving }).catch((error) => {
    throw leaving.aborted ? new ClientDisconnected('the client disconnected before its turn') : error
  })
}

/** Who sends a request. Most bodies are small, and ask for neither. */
interface Sender {
  /**
   * Client whose budgets the request counts against (`lib/clients.ts`): the signed-in account, else the
   * address.
   */
  readonly client: () => string
  /** Aborted when the response ends or the client disconnects. */
  readonly signal: () => AbortSignal
}

/** What large bodies wait for, and whose turn it is. */
export interface BodyTurn extends Sender {
  readonly turns: Pick<BodyTurns, 'read' | 'parse'>
}
