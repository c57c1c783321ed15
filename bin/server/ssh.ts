import { createServer, type Socket } from 'node:net'
import { promisify } from 'node:util'
import type { OpenAllot } from '../../lib/allot.ts'
import type { Log } from '../../lib/http/index.ts'
import type { SshCommand, SshConnectionOptions } from '../../lib/ssh/types.ts'
import type { Config } from '../config/config.ts'
import { inUrl, listen } from './listeners.ts'
import { CLOSE_TIMEOUT_MS, noteWaiting } from './shutdown.ts'

interface SshListener {
  readonly url: string
  /** Accepts no more connections, and cuts those that remain after a while. */
  stop(): Promise<void>
}

/**
 * Listens for SSH, when it is on.
 * @param baseUrl of the HTTP server, for clients of Git LFS
 */
export const listenForSsh = async (
  allot: Pick<OpenAllot, 'ssh' | 'sshServer'>,
  { server: { host }, ssh: { port } }: Config,
  options: SshConnectionOptions,
): Promise<SshListener | undefined> => {
  if (allot.sshServer === undefined || port === undefined) return undefined
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    allot.ssh(socket, options)
  })
  await listen(server, port, host, 'choose another with --ssh-port or port under [ssh]')
  return {
    url: `ssh://git@${inUrl(host)}:${port}`,
    async stop() {
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, CLOSE_TIMEOUT_MS)
      if (sockets.size > 0) noteWaiting(sockets.size, 'SSH connection')
      await promisify(server.close.bind(server))()
      clearTimeout(timer)
    },
  }
}

/** Logs a line for each command. */
export const commandLogger =
  (log: Log) =>
  (command: SshCommand): void =>
    log.info({ ...command }, 'command over SSH')
