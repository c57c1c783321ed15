import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type Duplex, PassThrough, type Readable, type Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { AllotError } from '../errors.ts'
import { watchIdle } from '../git/process.ts'

/** The session of the library: a stream in both directions, with standard error and an exit code. */
export type SessionStream = Duplex & { readonly stderr: Writable; exit(code: number): void; close(): void }

/** Bytes that may wait for a client which reads slowly. The socket counts them as sent all at once. */
const MAX_UNSENT = 64 * 1024

/**
 * Bytes of output after which the client is asked for a reply. Some clients make room for more only after
 * each 1 MiB, which takes minutes on a slow line, and what lies in the buffers of the network counts as sent.
 */
const BYTES_FOR_PING = 128 * 1024

/** The connection that a command runs on. */
export interface CommandConnection {
  readonly socket: Socket
  /** Bytes that the client has sent, and those that were sent to it. */
  traffic(): number
  /** Asks for a reply, which the client sends once it has read everything that was sent before. */
  ping(): void
  /** Aborted when the server closes, which waits for the command. */
  readonly closing: AbortSignal
}

/** Milliseconds that what a client has sent before the server closes has to arrive. */
const ARRIVAL_MS = 1000
/** Milliseconds that a client has to send its last bytes, once it has the end of the output. */
const DRAIN_MS = 5000

/**
 * The streams of one command. Invariant: a client that sends or reads slowly occupies no more memory than a
 * buffer, although the library itself ignores how much a socket has not sent yet.
 */
export class CommandChannel {
  /** The input that the client sends; fails when the connection breaks, and beyond the limit. */
  readonly input: PassThrough
  readonly #stream: SessionStream
  readonly #connection: CommandConnection
  readonly #ending: AbortController
  readonly #idleTimeout: number
  #received = 0
  #sent = 0
  #sentSincePing = 0
  #inputLimit = { bytes: Number.POSITIVE_INFINITY, message: '' }

  /**
   * @param ending aborted when the command must end; the channel aborts it when output waits and the
   * connection has no traffic
   * @param idleTimeout for how long, in milliseconds: the option `git.idleTimeout`
   */
  constructor(
    stream: SessionStream,
    connection: CommandConnection,
    ending: AbortController,
    idleTimeout: number,
  ) {
    this.#stream = stream
    this.#connection = connection
    this.#ending = ending
    this.#idleTimeout = idleTimeout
    this.input = new PassThrough()
    // The reader of the input gets the error.
    this.input.on('error', () => undefined)
    stream.on('error', () => this.input.destroy())
    stream.on('data', (chunk: Buffer) => this.#count(chunk))
    stream.pipe(this.input)
    this.#signal.addEventListener('abort', () => this.input.destroy(), { once: true })
  }

  get #signal(): AbortSignal {
    return this.#ending.signal
  }

  /** Bytes in each direction, without those of SSH itself. */
  get transferred(): { readonly received: number; readonly sent: number } {
    return { received: this.#received, sent: this.#sent }
  }

  /**
   * Limits what the client may send.
   * @param message of the error with which the input fails beyond the limit
   */
  limitInput(bytes: number, message: string): void {
    this.#inputLimit = { bytes, message }
  }

  /**
   * Waits until the client begins to send. This may take as long as the command: between the list of
   * references and the commands of a push, git runs the pre-push hook of its user.
   * @throws AllotError unavailable when the server closes before
   */
  async waitForInput(): Promise<void> {
    const { closing } = this.#connection
    // What the client has ended before gives no event any more.
    if (this.input.destroyed) return
    const waiting = new AbortController()
    const options = { signal: waiting.signal }
    const begun = [once(this.input, 'readable', options), once(this.input, 'close', options)]
    const closed = closing.aborted ? Promise.resolve() : once(closing, 'abort', options)
    const arrived = closed.then(() => sleep(ARRIVAL_MS, undefined, options))
    await Promise.race([...begun, arrived]).finally(() => waiting.abort())
    if (closing.aborted && this.input.readableLength === 0 && !this.input.destroyed)
      throw new AllotError('unavailable', 'the server is stopping')
  }

  /**
   * Sends everything that a stream gives, at the speed of the client.
   * @throws Error when the client disconnects or stops reading
   */
  async send(output: Readable): Promise<void> {
    try {
      for await (const chunk of output) await this.#write(chunk as Buffer)
    } finally {
      output.destroy()
    }
  }

  sendText(text: string): Promise<void> {
    return this.#write(Buffer.from(text))
  }

  /** Sends a text to standard error. */
  note(text: string): void {
    if (!this.#signal.aborted) this.#stream.stderr.write(text)
  }

  /**
   * Waits until the client has sent everything, since closing a channel while it sends hides the output from
   * its user.
   */
  async drain(): Promise<void> {
    this.input.resume()
    if (this.input.readableEnded || this.input.destroyed) return
    const options = { signal: this.#signal }
    await Promise.race([
      once(this.input, 'end', options),
      sleep(DRAIN_MS, undefined, { ...options, ref: false }),
    ]).catch(() => undefined)
  }

  /** Ends the command before it is done, and says why. */
  fail(reason: string): void {
    this.note(`ERROR: ${reason}\n`)
    this.#ending.abort()
  }

  /** Ends the command. */
  exit(code: number): void {
    this.#stream.unpipe(this.input)
    this.input.destroy()
    this.#stream.resume()
    if (this.#signal.aborted) return this.#stream.close()
    this.#stream.exit(code)
    this.#stream.end()
  }

  #count(chunk: Buffer): void {
    this.#received += chunk.length
    const { bytes, message } = this.#inputLimit
    if (this.#received > bytes) this.input.destroy(new AllotError('too_large', message))
  }

  /** Waits until the client has room for more. */
  async #write(chunk: Buffer): Promise<void> {
    const signal = this.#signal
    signal.throwIfAborted()
    this.#sent += chunk.length
    const { socket, traffic } = this.#connection
    const endWatch = watchIdle(traffic, this.#idleTimeout, () => this.#ending.abort())
    try {
      await this.#writeToWindow(chunk)
      this.#pingAfter(chunk.length)
      if (socket.writableLength > MAX_UNSENT) await once(socket, 'drain', { signal })
    } finally {
      endWatch()
    }
  }

  #pingAfter(bytes: number): void {
    this.#sentSincePing += bytes
    if (this.#sentSincePing < BYTES_FOR_PING) return
    this.#sentSincePing = 0
    this.#connection.ping()
  }

  /** The library never calls back for a channel that was closed, so the signal ends the wait. */
  #writeToWindow(chunk: Buffer): Promise<void> {
    const signal = this.#signal
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#stream.write(chunk, () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      })
    })
  }
}
