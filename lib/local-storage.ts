import { noreplyAddress } from './accounts/names.ts'
import { hostOf } from './api/users.ts'
import { ClientBudget, clientOfAccount } from './clients.ts'
import { now } from './clock.ts'
import { FileStorage } from './files/index.ts'
import { checkTemplates } from './git/first-commit.ts'
import { GitStorage } from './git/index.ts'
import { createTransport, type Transport } from './git/transport.ts'
import type { Log } from './http/index.ts'
import type { HostParts, Options } from './options.ts'
import type { RepositoryFiles } from './repositories/git-data.ts'
import type { Push } from './repositories/push-journal.ts'

/** The data that this server stores on its own disk, besides records. */
export interface LocalStorage {
  /** Undefined when the host stores the repositories, and reports their sizes. */
  readonly git: GitStorage | undefined
  /** Creates and removes the repositories of records; undefined as above. */
  readonly folders: RepositoryFiles | undefined
  /** Serves fetches and pushes over HTTP; undefined when that is turned off. */
  readonly transport: Transport | undefined
  /** Files other than git data: attachments, LFS objects, packages. */
  readonly files: FileStorage
}

/** Called by `createAllot` with its options. */
export const openLocalStorage = (options: Options, log: Log): LocalStorage => {
  const { repositories } = options
  const files = new FileStorage(options.files)
  if (repositories === false) return { git: undefined, folders: undefined, transport: undefined, files }
  const git = new GitStorage(repositories)
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
    const onError = (error: unknown) => log.error({ err: error }, 'onPush failed')
    new Promise((resolve) => resolve(onPush?.(push))).catch(onError)
  }

/**
 * Shares repository creation fairly among users, since each creation runs several git processes. The queue is long, so that
 * a bulk creation waits and is not refused.
 */
const createCreationBudget = () =>
  new ClientBudget({
    slots: 4,
    slotsPerClient: 3,
    queue: 10_000,
    queuePerClient: 5000,
    maxWaitMs: 60_000,
    message: 'too many repositories are being created: try again',
  })

const repositoryFiles = (
  git: GitStorage,
  transport: Transport | undefined,
  host: string,
  creations = createCreationBudget(),
): RepositoryFiles => ({
  check: ({ autoInit, readme, gitignores, license }) =>
    autoInit === true ? checkTemplates({ readme, gitignores, license }) : undefined,
  async create(id, { autoInit, defaultBranch = 'main', ...init }, author) {
    const first = {
      name: init.name,
      description: init.description ?? '',
      readme: init.readme,
      gitignores: init.gitignores,
      license: init.license,
      author: {
        name: author.fullName || author.name,
        // Commits are readable by everyone who can clone, so the account's own address stays out of them.
        email: noreplyAddress(author.name, init.host ?? host),
      },
      when: new Date(now() * 1000),
    }
    return creations.run(clientOfAccount(author.id), () =>
      git.create(id, defaultBranch, autoInit === true ? first : undefined),
    )
  },
  async remove(id) {
    await transport?.stop(id)
    await git.remove(id)
  },
  sweep: (age) => git.removeStale(age),
})
