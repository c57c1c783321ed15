import { LfsTokens } from '../content/lfs-tokens.ts'
import type { App } from '../hosting/wire.ts'
import { logError } from '../http/index.ts'
import { readHostKeys } from './host-keys.ts'
import { Ssh2Server } from './index.ts'
import { loadSsh2 } from './library.ts'
import type { SshServer } from './types.ts'

/** The SSH server, and the tokens that it gives to clients of Git LFS. */
interface Ssh {
  readonly server: SshServer
  /** Undefined when Git LFS is turned off. */
  readonly lfsTokens: LfsTokens | undefined
}

/**
 * @returns undefined when SSH is turned off, and when the host stores repositories itself
 * @throws AllotError unavailable without the package ssh2; misconfigured for a host key that cannot be used
 */
export const openSsh = async ({ options, host, store, hosting }: App): Promise<Ssh | undefined> => {
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
    limits: { ...ssh, git: options.git },
    onError: logError(log, 'a connection over SSH failed'),
  })
  return { server, lfsTokens }
}
