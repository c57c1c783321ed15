import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AuthContext, Connection, PublicKeyAuthContext, ServerChannel, Session } from 'ssh2'
import type { Options } from '../options/index.ts'
import { CommandChannel, type CommandConnection, type SessionStream } from './channel.ts'
import type { Commands } from './commands.ts'
import { ping, type Ssh2 } from './library.ts'
import type { SshCommand } from './types.ts'

export interface ConnectionOptions {
  readonly ssh2: Ssh2
  readonly commands: Commands
  readonly findKey: (
    fingerprint: string,
  ) => Promise<{ readonly id: number; readonly key: string } | undefined>
  /** Those of the option `ssh`, and of `git` for its commands. */
  readonly limits: Pick<Options, 'ssh' | 'git'>
  /** Ends the connection unless the client signs in before; runs since the connection was accepted. */
  readonly loginTimer: NodeJS.Timeout
  readonly baseUrl: string | undefined
  readonly onCommand: (command: SshCommand) => void
  readonly onError: (error: unknown) => void
}

/** The user name of every SSH URL; the key identifies the account. */
const USER = 'git'
/**
 * Requests of authentication: agents offer all the keys that they have, and a key that is accepted needs two
 * requests.
 */
const MAX_ATTEMPTS = 30
/** Sessions of one connection that are open at the same time. */
const MAX_SESSIONS = 10
/** Milliseconds that a client has to close its sessions, once the server closes. */
const CLOSE_MS = 1000
/**
 * Bytes that the library may hold for a connection, in each direction; clients which keep to their windows
 * stay far below.
 */
const MAX_BUFFERED = 16 * 1024 * 1024

/** One connection of a client: its login, and its sessions with a command each. */
export class SshConnection {
  readonly #options: ConnectionOptions
  readonly #socket: Socket
  readonly #client: Connection
  readonly #shared: CommandConnection
  readonly #streams = new Map<ServerChannel, AbortController>()
  readonly #running = new Set<Promise<void>>()
  #key: number | undefined
  #attempts = 0
  #openSessions = 0
  #timer: NodeJS.Timeout
  readonly #closing = new AbortController()
  #onSessionsClosed: () => void = () => undefined

  constructor(socket: Socket, client: Connection, options: ConnectionOptions) {
    this.#options = options
    this.#socket = socket
    this.#client = client
    this.#shared = {
      socket,
      traffic: () => socket.bytesRead + socket.bytesWritten - socket.writableLength,
      ping: () => ping(client),
      closing: this.#closing.signal,
    }
    this.#timer = options.loginTimer
    // The library reports here what a client does wrong, and connections that break. It closes the connection
    // then.
    client.on('error', () => undefined)
    client.on('authentication', (context) => void this.#authenticate(context).catch(() => socket.destroy()))
    client.on('ready', () => this.#waitForWork())
    client.on('session', (accept, reject) => this.#open(accept, reject))
    socket.on('data', () => this.#limitBuffers())
    socket.once('close', () => this.#closed())
  }

  /** Ends the connection after the commands that are running; refuses further ones. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#running)
    // A client that gets the end of the connection before its session is closed reports a failure.
    if (this.#openSessions > 0 && !this.#socket.destroyed)
      await Promise.race([
        new Promise<void>((resolve) => {
          this.#onSessionsClosed = resolve
        }),
        sleep(CLOSE_MS, undefined, { ref: false }),
      ])
    this.#client.end()
    this.#socket.destroySoon()
  }

  async #authenticate(context: AuthContext): Promise<void> {
    if (++this.#attempts > MAX_ATTEMPTS) return void this.#client.end()
    const key = context.method === 'publickey' ? await this.#verifiedKey(context) : undefined
    if (this.#socket.destroyed) return
    if (key === undefined) return context.reject(['publickey'])
    if (context.method === 'publickey' && context.signature !== undefined) this.#key = key
    context.accept()
  }

  /**
   * @returns the id of a stored key; undefined for another key, and for a signature that is not by the key
   */
  async #verifiedKey(context: PublicKeyAuthContext): Promise<number | undefined> {
    const { ssh2, findKey, onError } = this.#options
    const { username, key, signature, blob, hashAlgo } = context
    // Without a hash, signatures of RSA keys are made with SHA-1.
    if (username !== USER || (key.algo === 'ssh-rsa' && hashAlgo === undefined)) return undefined
    const digest = createHash('sha256').update(key.data).digest('base64')
    const found = await findKey(`SHA256:${digest.replace('=', '')}`).catch((error) => {
      onError(error)
      throw error
    })
    if (found === undefined) return undefined
    const parsed = ssh2.utils.parseKey(found.key)
    // The library does not know keys on security keys: they are refused before the client asks its user to
    // touch one. An RSA key under another name would be verified with SHA-1.
    if (parsed instanceof Error || parsed.type !== key.algo) return undefined
    if (signature === undefined) return found.id
    if (blob === undefined) return undefined
    return parsed.verify(blob, signature, hashAlgo) === true ? found.id : undefined
  }

  #open(accept: () => Session, reject: () => void): void {
    if (this.#openSessions >= MAX_SESSIONS) return reject()
    const session = accept()
    // Aborted when the client closes the session, and when a command takes too long.
    const ending = new AbortController()
    let protocol: string | undefined
    this.#openSessions++
    session.once('close', () => {
      if (--this.#openSessions === 0) this.#onSessionsClosed()
      ending.abort()
    })
    session.on('env', (acceptVariable, _reject, { key, val }) => {
      if (key === 'GIT_PROTOCOL') protocol = val
      acceptVariable?.()
    })
    // There is no terminal, but a client that is refused one shows a warning.
    session.on('pty', (acceptTerminal) => acceptTerminal?.())
    session.once('shell', (acceptShell) => this.#start(acceptShell(), ending, { text: undefined, protocol }))
    session.once('exec', (acceptCommand, _reject, { command }) =>
      this.#start(acceptCommand(), ending, { text: command, protocol }),
    )
  }

  #start(
    stream: ServerChannel | undefined,
    ending: AbortController,
    command: { text: string | undefined; protocol: string | undefined },
  ): void {
    // Undefined when the client has already closed the session.
    if (stream === undefined) return
    if (this.#closing.signal.aborted) return void stream.close()
    clearTimeout(this.#timer)
    this.#streams.set(stream, ending)
    const run = this.#run(stream, ending, command).finally(() => {
      this.#streams.delete(stream)
      this.#running.delete(run)
      this.#waitForWork()
    })
    this.#running.add(run)
  }

  async #run(
    stream: ServerChannel,
    ending: AbortController,
    { text, protocol }: { text: string | undefined; protocol: string | undefined },
  ): Promise<void> {
    const { commands, limits, baseUrl, onCommand } = this.#options
    const startedAt = performance.now()
    const { signal } = ending
    const { traffic } = this.#shared
    const channel = new CommandChannel(stream as SessionStream, this.#shared, ending, limits.git.idleTimeout)
    const { timeout } = limits.git
    const deadline = setTimeout(
      () => channel.fail(`the command took more than ${timeout / 1000} seconds`),
      timeout,
    )
    const from = this.#socket.remoteAddress
    const result = await commands.run({ text, protocol, baseUrl, channel, signal, traffic, key: this.#key! })
    clearTimeout(deadline)
    channel.exit(result.exitCode)
    const { received: bytesReceived, sent: bytesSent } = channel.transferred
    const ms = Math.round((performance.now() - startedAt) * 100) / 100
    onCommand({ ...result, ms, bytesReceived, bytesSent, from })
  }

  /** A connection without a command is closed after a while. */
  #waitForWork(): void {
    clearTimeout(this.#timer)
    if (this.#running.size > 0 || this.#socket.destroyed) return
    this.#timer = setTimeout(() => {
      this.#client.end()
      this.#socket.destroySoon()
    }, this.#options.limits.ssh.idleTimeout)
  }

  /** The library trusts clients to keep to the windows of their channels, and to read what it sends. */
  #limitBuffers(): void {
    let unread = 0
    for (const stream of this.#streams.keys()) unread += stream.readableLength
    if (unread > MAX_BUFFERED || this.#socket.writableLength > MAX_BUFFERED) this.#socket.destroy()
  }

  #closed(): void {
    clearTimeout(this.#timer)
    // The library does not close the sessions of a connection that breaks. Nothing else ends a wait for them
    // in a process without work, which would end before its store is closed.
    this.#onSessionsClosed()
    for (const ending of this.#streams.values()) ending.abort()
  }
}
