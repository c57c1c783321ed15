import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AllotError } from '../errors.ts'

/**
 * The requests of a connection: one at a time is handled (pipelining). Responses in flight are tracked, and
 * so is what clients have not read of them.
 */

/** Requests of one connection, handled one at a time. */
interface RequestQueue {
  /** The request that is handled now. */
  current: IncomingMessage | undefined
  readonly waiting: Waiting[]
}

interface Waiting {
  readonly req: IncomingMessage
  begin(): void
}

/** Waiting requests of one connection; a connection with more is closed. */
const MAX_WAITING = 256

const queues = new WeakMap<Socket, RequestQueue>()

/**
 * Handles pipelined requests of a connection one after another, each after the response before it has ended.
 * Otherwise a client that never reads could fill the memory with responses by a few kilobytes of requests. A
 * request that one listener has passed on to another is already the current one, and begins at once. One
 * whose client has left, while the host did something of its own, never begins.
 * @param begin tracks the response by {@link trackInFlight}, which begins the next request at its end
 */
export const inRequestOrder = (res: ServerResponse, begin: () => void): void => {
  const { req } = res
  if (res.destroyed || req.socket.destroyed) return
  // HTTP/2 multiplexes requests, and its flow control limits them.
  if (req.httpVersionMajor > 1) return begin()
  let queue = queues.get(req.socket)
  if (queue === undefined) {
    queue = { current: undefined, waiting: [] }
    queues.set(req.socket, queue)
  }
  if (queue.current === undefined || queue.current === req) start(queue, { req, begin })
  else if (queue.waiting.length < MAX_WAITING) queue.waiting.push({ req, begin })
  else req.socket.destroy()
}

/** Whether {@link inRequestOrder} begins a request at once. */
export const isNext = (req: IncomingMessage): boolean => {
  const current = req.httpVersionMajor > 1 ? undefined : queues.get(req.socket)?.current
  return current === undefined || current === req
}

const start = (queue: RequestQueue, next: Waiting): void => {
  queue.current = next.req
  next.begin()
}

const startNext = ({ req, shouldKeepAlive }: ServerResponse): void => {
  const { socket } = req
  const queue = queues.get(socket)
  // A request that was passed on ends for each listener that tracks it, and only the first end counts.
  if (queue?.current !== req) return
  queue.current = undefined
  // No further response can be sent on a connection that closes, so its waiting requests must not change
  // anything.
  if (!shouldKeepAlive || socket.destroyed) queue.waiting.length = 0
  const next = queue.waiting.shift()
  if (next !== undefined) start(queue, next)
}

/**
 * Lets a response emit `close` when the client leaves while another one of its connection, which the host has
 * not ended, is before it: node:http does so for the first one only.
 */
const closeWithSocket = (res: ServerResponse): void => {
  if (res.socket !== null) return
  const { socket } = res.req
  const close = () => {
    if (res.destroyed) return
    res.destroy()
    res.emit('close')
  }
  socket.once('close', close)
  res.once('close', () => socket.off('close', close))
}

/** Tracks responses that have not ended, so that a server can wait for them before it stops. */
export const trackInFlight = () => {
  const inFlight = new Set<ServerResponse>()
  // One listener for all responses: creating a closure for each one is measurably slower.
  function ended(this: ServerResponse): void {
    inFlight.delete(this)
    startNext(this)
  }
  return {
    begin(res: ServerResponse) {
      inFlight.add(res)
      res.on('close', ended)
      closeWithSocket(res)
    },
    /** Waits for the present responses only: with later ones it might never end. */
    async idle(): Promise<void> {
      await Promise.all([...inFlight].map((res) => once(res, 'close')))
    },
  }
}

/** Bytes that may wait for one client before it is refused more. */
const MAX_UNREAD = 64 * 1024 * 1024
/** Bytes of a response that are not counted: less than a stream keeps. */
const UNCOUNTED = 64 * 1024

/**
 * What is left of responses that are whole in memory, by client. Invariant: of one client, `MAX_UNREAD` bytes
 * wait at most, besides the responses that are made at the same time, however slowly the client reads, and on
 * however many connections.
 */
export class UnreadResponses {
  readonly #bytes = new Map<string, number>()

  /** Whether a client does not read what it has asked for. */
  isTooMuch(client: () => string): boolean {
    return this.#bytes.size > 0 && (this.#bytes.get(client()) ?? 0) > MAX_UNREAD
  }

  /** @throws AllotError unavailable for a client that does not read */
  refuseMore(client: () => string): void {
    if (this.isTooMuch(client))
      throw new AllotError('unavailable', 'read the responses to your other requests first: too much waits', {
        retryAfter: 1,
      })
  }

  /** Counts what is left of a response until it is sent or its connection ends. */
  count(client: () => string, res: ServerResponse): void {
    const bytes = res.writableLength
    if (bytes < UNCOUNTED || res.closed) return
    const name = client()
    this.#add(name, bytes)
    res.once('close', () => this.#add(name, -bytes))
  }

  #add(client: string, bytes: number): void {
    const sum = (this.#bytes.get(client) ?? 0) + bytes
    if (sum === 0) this.#bytes.delete(client)
    else this.#bytes.set(client, sum)
  }
}
