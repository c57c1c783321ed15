import { clientOfAccount } from './accounts/client-address.ts'
import { noreplyAddress } from './accounts/names.ts'
import { hostOf } from './api/users.ts'
import { createClientBudget } from './client-budget.ts'
import { now } from './clock.ts'
import { createFileStore, type FileStore } from './files/index.ts'
import { createGitStore, type GitStore } from './git/index.ts'
import { createTransport, type Transport } from './git/transport.ts'
import type { Log } from './http/index.ts'
import type { HostParts, Options } from './options.ts'
import type { Push } from './repositories/push-journal.ts'
import type { RepositoryFiles } from './repositories/storage.ts'

/** What this server keeps on its own disk. */
export interface LocalStorage {
  /** Undefined when the host keeps the repositories itself, and reports their sizes. */
  readonly git: GitStore | undefined
  readonly folders: RepositoryFiles | undefined
  /** Undefined when nobody fetches or pushes here. */
  readonly transport: Transport | undefined
  /** Everything but git data. */
  readonly files: FileStore
}

export const openLocalStorage = (options: Options, log: Log): LocalStorage => {
  const { repositories } = options
  const files = createFileStore(options.files)
  if (repositories === false) return { git: undefined, folders: undefined, transport: undefined, files }
  const git = createGitStore(repositories)
  const transport = transportOf(repositories, options.git, log)
  return {
    git,
    transport,
    folders: repositoryFiles(git, transport, hostOf(options.baseUrl ?? 'http://localhost')),
    files,
  }
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

/** Calls `onPush`. An error that it throws is logged and does not affect the push. */
export const pushedTo =
  (onPush: HostParts['onPush'], log: Log) =>
  (push: Push): void => {
    const failed = (error: unknown) => log.error({ err: error }, 'onPush failed')
    new Promise((resolve) => resolve(onPush?.(push))).catch(failed)
  }

/**
 * Shares the creation of repositories among the users who ask for it: each runs several git processes. Somebody's own bulk
 * creation waits its turn and is not refused.
 */
const createCreationBudget = () =>
  createClientBudget({
    slots: 4,
    slotsPerClient: 3,
    queue: 10_000,
    queuePerClient: 5000,
    maxWaitMs: 60_000,
    message: 'too many repositories are being created: try again',
  })

const repositoryFiles = (
  git: GitStore,
  transport: Transport | undefined,
  host: string,
  creations = createCreationBudget(),
): RepositoryFiles => ({
  check: ({ autoInit, readme, gitignores, license }) =>
    autoInit === true ? git.checkTemplates({ readme, gitignores, license }) : undefined,
  async create(id, { autoInit, defaultBranch = 'main', ...init }, author) {
    const first = {
      name: init.name,
      description: init.description ?? '',
      readme: init.readme,
      gitignores: init.gitignores,
      license: init.license,
      author: {
        name: author.fullName || author.name,
        // Whoever clones reads it, so it is never the account's own.
        email: noreplyAddress(author.name, init.host ?? host),
      },
      when: new Date(now() * 1000),
    }
    const { size } = await creations.run(clientOfAccount(author.id), () =>
      git.create(id, { defaultBranch, first: autoInit === true ? first : undefined }),
    )
    return size
  },
  async remove(id) {
    await transport?.stop(id)
    await git.remove(id)
  },
  sweep: (age) => git.removeStale(age),
})
