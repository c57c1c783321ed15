import type { SignedIn, Viewer } from '../accounts/access.ts'
import { existingAccount, readableRepository } from '../accounts/find.ts'
import { now } from '../clock.ts'
import { invalidMember } from '../errors.ts'
import { pageOfAll, type Slice, type WithPage } from '../records/pages.ts'
import { type CommitStatus, commitStatuses, type StatusState } from '../records/schema/index.ts'
import { takeNumber } from '../records/store.ts'
import type { RepositoryName } from '../repositories/names.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import { type InRepository, requireWriter, writeAccess } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { countTexts } from './daily-limits.ts'

/** Contexts of a commit, all of which a request for the combined status reads. */
const MAX_CONTEXTS = 1000
/** Statuses of a commit that have the same context. */
const MAX_IN_CONTEXT = 1000

/** Longest texts in UTF-16 code units. */
export const STATUS_LIMITS = { context: 255, description: 1024, targetUrl: 2048 } as const

/** Clients make links of it, which must not run a script. */
export const TARGET_URL = /^(?:|[Hh][Tt][Tt][Pp][Ss]?:\/\/\S+)$/

/** The context of a status that names none. */
const DEFAULT_CONTEXT = 'default'

interface NewStatus {
  readonly state: StatusState
  readonly context?: string | undefined
  readonly description?: string | undefined
  readonly targetUrl?: string | undefined
}

interface StatusQuery {
  /** Undefined: any. */
  readonly state?: StatusState | undefined
  readonly isOldestFirst?: boolean
}

/** The statuses of a commit that count, and what they say together. */
export interface CombinedStatus extends WithPage<CommitStatus> {
  readonly state: 'success' | 'pending' | 'failure'
}

/**
 * Results that CI systems report about commits. The caller has found the commit in the repository. Methods
 * return undefined when the viewer cannot see the repository.
 */
export class CommitStatuses {
  readonly #services: Pick<RepositoryServices, 'store' | 'maxTextPerDay'>

  constructor(services: Pick<RepositoryServices, 'store' | 'maxTextPerDay'>) {
    this.#services = services
  }

  /**
   * Adds a status, which replaces the one before of the same context. Those before stay listed.
   * @throws AllotError forbidden without write permission; invalid for too many statuses, and for a
   * text that is too long; too_large beyond the texts of a day; not_found when the viewer was deleted
   * meanwhile
   */
  async create(
    viewer: SignedIn,
    path: RepositoryName,
    sha: string,
    { state, context: given, description = '', targetUrl = '' }: NewStatus,
  ): Promise<InRepository<{ status: CommitStatus }> | undefined> {
    const context = given || DEFAULT_CONTEXT
    checkStatusTexts({ context, description, targetUrl })
    return this.#services.store.write(async (tx) => {
      const access = await writeAccess(tx, viewer, path, 'code')
      if (access === undefined) return undefined
      requireWriter(access)
      const { id: creator } = await existingAccount(tx, viewer.id)
      await countTexts(tx, this.#services, creator, [given, description, targetUrl])
      const { repository } = access
      const status: CommitStatus = {
        id: await takeNumber(tx, 'commitStatus'),
        repository: repository.id,
        sha,
        state,
        context,
        description,
        targetUrl,
        creator,
        createdAt: now(),
        superseded: false,
      }
      const before = await currentIn(tx, status)
      await refuseTooManyStatuses(tx, status, before)
      if (before !== undefined) await commitStatuses.save(tx, { ...before, superseded: true })
      await commitStatuses.save(tx, status)
      return { repository, status }
    })
  }

  /** The statuses of a commit, the newest first unless the query says otherwise. */
  list(
    viewer: Viewer,
    path: RepositoryName,
    sha: string,
    { state, isOldestFirst = false }: StatusQuery,
    slice: Slice,
  ): Promise<InRepository<WithPage<CommitStatus>> | undefined> {
    return this.#services.store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, path.owner, path.name, 'code')
      if (repository === undefined) return undefined
      const commit = [repository.id, sha]
      const listing = { ...slice, reverse: !isOldestFirst }
      const page =
        state === undefined
          ? await commitStatuses.page(tx, 'commit', { prefix: commit, ...listing })
          : await commitStatuses.page(tx, 'state', { prefix: [...commit, state], ...listing })
      return { repository, page }
    })
  }

  /** The newest status of each context of a commit, by context, and what all of them say together. */
  combined(
    viewer: Viewer,
    path: RepositoryName,
    sha: string,
    slice: Slice,
  ): Promise<InRepository<CombinedStatus> | undefined> {
    return this.#services.store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, path.owner, path.name, 'code')
      if (repository === undefined) return undefined
      const all = await commitStatuses.list(tx, 'current', { prefix: [repository.id, sha] })
      all.sort((left, right) => (left.context < right.context ? -1 : 1))
      const page = pageOfAll(all, slice)
      return { repository, page, state: combine(all) }
    })
  }
}

/** @throws AllotError invalid for a text that a status cannot have */
const checkStatusTexts = (texts: { readonly [Member in keyof typeof STATUS_LIMITS]: string }): void => {
  for (const [member, limit] of Object.entries(STATUS_LIMITS))
    if (texts[member as keyof typeof STATUS_LIMITS].length > limit)
      throw invalidMember(member, `must have at most ${limit} characters`)
  if (texts.context === '') throw invalidMember('context', 'must not be empty')
  if (!TARGET_URL.test(texts.targetUrl)) throw invalidMember('targetUrl', 'expected a URL of http or https')
}

const currentIn = (
  tx: ReadTransaction,
  { repository, sha, context }: CommitStatus,
): Promise<CommitStatus | undefined> => commitStatuses.findBy(tx, 'current', [repository, sha, context])

const refuseTooManyStatuses = async (
  tx: ReadTransaction,
  { repository, sha, context }: CommitStatus,
  before: CommitStatus | undefined,
): Promise<void> => {
  if (before === undefined && (await commitStatuses.count(tx, 'current', [repository, sha])) >= MAX_CONTEXTS)
    throw invalidMember(
      'context',
      `the commit already has statuses of ${MAX_CONTEXTS} contexts: use one of those`,
    )
  if ((await commitStatuses.count(tx, 'context', [repository, sha, context])) >= MAX_IN_CONTEXT)
    throw invalidMember(
      'context',
      `the commit already has ${MAX_IN_CONTEXT} statuses with this context: use another context`,
    )
}

/** Success needs a status, and nothing that failed, warns or is not finished. */
const combine = (statuses: readonly CommitStatus[]): CombinedStatus['state'] => {
  const states = new Set(statuses.map(({ state }) => state))
  if (states.has('error') || states.has('failure') || states.has('warning')) return 'failure'
  return states.has('pending') || states.size === 0 ? 'pending' : 'success'
}
