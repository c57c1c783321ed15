import type { Socket } from 'node:net'
import type { CommandResult } from './commands.ts'

/*
 * The types of SSH that hosts see. They name nothing of the library, which a host need not have installed:
 * its declarations would be missing.
 */

/** A command that has ended. */
export interface SshCommand extends CommandResult {
  /** Milliseconds that it took. */
  readonly ms: number
  /** Bytes of git's protocol that the client sent, without those of SSH itself. */
  readonly bytesReceived: number
  /** Bytes of git's protocol that the server sent, without those of SSH itself. */
  readonly bytesSent: number
  /** Address of the client. */
  readonly from: string | undefined
}

/** Options of a listener for its SSH connections. */
export interface SshConnectionOptions {
  /** URL of the HTTP server, for clients of Git LFS; only needed without the option `baseUrl`. */
  readonly baseUrl?: string | undefined
  /** Called after each command of the client, for a log. */
  readonly onCommand?: (command: SshCommand) => void
}

/** Serves the connections that the host accepts. */
export interface SshServer {
  /** Number of open connections. */
  readonly connections: number
  /** Serves a connection. Above the limits, and once the server closes, it is closed at once. */
  accept(socket: Socket, options?: SshConnectionOptions): void
  /** Calls the listener after each later command of any connection. */
  observe(listener: (command: SshCommand) => void): void
  /** Refuses connections from now on, and resolves when the running commands have ended. */
  close(): Promise<void>
}
