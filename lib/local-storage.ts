import { FileStorage } from './files/index.ts'
import { GitStorage } from './git/index.ts'
import { createTransport, type Transport } from './git/transport.ts'
import type { Log } from './http/index.ts'
import type { Options } from './options.ts'

/** The data that this server stores on its own disk, besides records. */
export interface LocalStorage {
  /** Undefined when the host stores the repositories, and reports their sizes. */
  readonly gitStorage: GitStorage | undefined
  /** Serves fetches and pushes over HTTP; undefined when that is turned off. */
  readonly transport: Transport | undefined
  /** Files other than git data: attachments, LFS objects, packages. */
  readonly fileStorage: FileStorage
}

/** Called by `createAllot` with its options. */
export const openLocalStorage = (options: Options, log: Log): LocalStorage => {
  const { repositories } = options
  const fileStorage = new FileStorage(options.files)
  if (repositories === false) return { gitStorage: undefined, transport: undefined, fileStorage }
  const transport = transportOf(repositories, options.git, log)
  return { gitStorage: new GitStorage(repositories), transport, fileStorage }
}

const transportOf = (
  { directory, git }: Exclude<Options['repositories'], false>,
  { http, ...limits }: Options['git'],
  log: Log,
): Transport | undefined => {
  if (!http) return undefined
  const { maxConcurrent, maxConcurrentPerClient = Math.ceil(maxConcurrent / 4) } = limits
  return createTransport({
    directory,
    git,
    memory: limits.maxMemory,
    maxProcesses: maxConcurrent,
    maxProcessesPerClient: maxConcurrentPerClient,
    maxPushBytes: limits.maxPushSize,
    timeouts: { idleMs: limits.idleTimeout, deadlineMs: limits.timeout },
    onError: (error, fields) => log.info({ err: error, ...fields }, 'a git process failed'),
  })
}
