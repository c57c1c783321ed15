import type { Socket } from 'node:net'
import { addressOfSocket, Counts } from '../clients.ts'
import { LfsTokens } from '../content/lfs-tokens.ts'
import type { App } from '../hosting/wire.ts'
import { logError } from '../http/index.ts'
import type { Options } from '../options/index.ts'
import { type CommandServices, Commands } from './commands.ts'
import { SshConnection } from './connection.ts'
import { readHostKeys } from './host-keys.ts'
import { ALGORITHMS, loadSsh2, PING_INTERVAL, type Ssh2 } from './library.ts'
import type { SshCommand, SshConnectionOptions, SshServer } from './types.ts'

export { hostKeyFolder, readHostKey, readHostKeys } from './host-keys.ts'
export { loadSsh2 } from './library.ts'
export type { SshCommand, SshServer } from './types.ts'

interface SshServerOptions extends CommandServices {
  readonly ssh2: Ssh2
  /** Private keys of the server. */
  readonly hostKeys: readonly string[]
  readonly limits: Pick<Options, 'ssh' | 'git'>
  /** URL of the HTTP server, when it is configured. */
  readonly baseUrl: string | undefined
  readonly onError: (error: unknown) => void
}

/** Name of the server in the SSH protocol, without a version. */
const IDENT = 'allot'

/**
 * Git over SSH, on connections that the host accepts. Invariant: one address never holds more than its share
 * of the connections; the git processes of a user count against the same budget as those over HTTP.
 */
export class Ssh2Server implements SshServer {
  readonly #options: SshServerOptions
  readonly #commands: Commands
  readonly #open = new Counts()
  /** Connections of clients that have not said yet that they speak SSH. */
  readonly #handshakes = new Set<Socket>()
  readonly #connections = new Set<SshConnection>()
  readonly #observers: ((command: SshCommand) => void)[] = []
  #isClosing = false

  constructor(options: SshServerOptions) {
    this.#options = options
    this.#commands = new Commands(options)
  }

  get connections(): number {
    return this.#open.total
  }

  accept(socket: Socket, { baseUrl = this.#options.baseUrl, onCommand }: SshConnectionOptions = {}): void {
    const { ssh2, hostKeys, limits, onError } = this.#options
    const { maxConnections, maxConnectionsPerAddress = Math.ceil(maxConnections / 4) } = limits.ssh
    const address = addressOfSocket(socket)
    socket.on('error', () => undefined)
    const isFull = this.#open.total >= maxConnections || this.#open.of(address) >= maxConnectionsPerAddress
    // A socket that a host hands over when it is closed does not emit `close` again.
    if (isFull || this.#isClosing || socket.destroyed) return void socket.destroy()
    this.#open.addUntilClosed(address, socket)
    const notify = (command: SshCommand) => {
      try {
        for (const observer of this.#observers) observer(command)
        onCommand?.(command)
      } catch (error) {
        onError(error)
      }
    }
    const loginTimer = setTimeout(() => socket.destroy(), limits.ssh.loginTimeout)
    this.#handshakes.add(socket)
    socket.once('close', () => {
      clearTimeout(loginTimer)
      this.#handshakes.delete(socket)
    })
    // A server for each connection: the library does not say which socket a client belongs to.
    const server = new ssh2.Server(
      { hostKeys: [...hostKeys], ident: IDENT, algorithms: ALGORITHMS, keepaliveInterval: PING_INTERVAL },
      (client) => {
        this.#handshakes.delete(socket)
        const connection = new SshConnection(socket, client, {
          ssh2,
          commands: this.#commands,
          limits,
          loginTimer,
          baseUrl,
          onCommand: notify,
          onError,
          findKey: (fingerprint) => this.#options.sshKeys.signingIn(fingerprint),
        })
        this.#connections.add(connection)
        socket.once('close', () => this.#connections.delete(connection))
      },
    )
    socket.setNoDelay(true)
    server.injectSocket(socket)
  }

  observe(listener: (command: SshCommand) => void): void {
    this.#observers.push(listener)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    for (const socket of this.#handshakes) socket.destroy()
    await Promise.all([...this.#connections].map((connection) => connection.close()))
  }
}

/**
 * @returns the SSH server, and the tokens that it gives to clients of Git LFS, undefined when that is turned
 * off; undefined when SSH is turned off, and when the host stores repositories itself
 * @throws AllotError unavailable without the package ssh2; misconfigured for a host key that cannot be used
 */
export const openSsh = async ({
  options,
  host,
  store,
  hosting,
}: App): Promise<{ server: SshServer; lfsTokens: LfsTokens | undefined } | undefined> => {
  const { ssh, repositories, lfs } = options
  const { log } = host
  const { git } = hosting
  if (ssh.port === undefined || repositories === false || git === undefined) return undefined
  const ssh2 = await loadSsh2()
  const place = { file: ssh.hostKey, repositories: repositories.directory }
  const hostKeys = await readHostKeys(ssh2, place)
  const lfsTokens = lfs === false ? undefined : new LfsTokens(store, hostKeys[0]!)
  const server = new Ssh2Server({
    ssh2,
    hostKeys,
    store,
    lfsTokens,
    log,
    ...git,
    sshKeys: hosting.sshKeys,
    baseUrl: options.baseUrl,
    limits: options,
    onError: logError(log, 'a connection over SSH failed'),
  })
  return { server, lfsTokens }
}
