/**
 * The option `onBeforeStore`: the host decides before bytes are stored that count toward a quota. Every path
 * that stores such bytes calls {@link BeforeStore.ask}; spec/quota/before-store.spec.ts lists them.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { formatSize } from '../byte-sizes.ts'
import { AllotError, describeValue } from '../errors.ts'
import { repositories } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { type ReadTransaction, StorageError } from '../storage/index.ts'
import type { QuotaEngine } from './index.ts'
import type { Owner, OwnerDirectory } from './owners.ts'
import { noUsage, type Subject, subjectOf, type Usage, usedBy, withAncestors } from './subjects.ts'
import { addDelta } from './usage.ts'
import { OverQuotaError } from './within.ts'

/** How bytes are stored: over git, by a commit of the API, as an upload, or by moving what is stored. */
export type StoreKind =
  | 'push'
  | 'commit'
  | 'lfs'
  | 'attachment'
  | 'package'
  | 'repository'
  | 'fork'
  | 'transfer'
  | 'visibility'

/** Bytes that are about to be stored, and would count toward the quota of an owner. */
export interface BytesToStore {
  /** Name of the user or organization that they would count for. */
  readonly owner: string
  /** Subject that they would count toward, such as `size:git:lfs`. */
  readonly subject: Subject
  /** How many they are. */
  readonly size: number
  /** Bytes of a push or a commit when it is unpacked; undefined for everything else. */
  readonly unpackedSize: number | undefined
  /** Name of the user who stores them; undefined when none does. */
  readonly actor: string | undefined
  /** `owner/name` of the repository, before a transfer; undefined for packages and new repositories. */
  readonly repository: string | undefined
  /** What is done. */
  readonly kind: StoreKind
  /** How it came: over HTTP, over SSH, or by a call of the host's own code. */
  readonly via: 'http' | 'ssh' | 'code'
  /**
   * Refuses what would take the owner over quota: by all bytes of the change, also those of other subjects.
   * They are checked once more in the transaction that counts them. The host must wait for it.
   * @throws OverQuotaError
   */
  readonly requireWithin: () => Promise<void>
}

/**
 * Called before bytes are stored. It returns nothing, or throws an `AllotError` with the code `over_quota`,
 * which refuses them: its message is a sentence for the person. Any other error or value is a fault of the
 * host, and so is a check that it does not wait for: nothing is stored, and the answer is 500.
 */
export type OnBeforeStore = (bytes: BytesToStore) => void | Promise<void>

/**
 * An `onBeforeStore` that refuses what would take its owner over quota. It takes no `quota`: as an option of
 * `createAllot`, it is made before there is one, so each call brings the check along.
 * @example
 * const allot = await createAllot({ data: './data', onBeforeStore: refuseOver() })
 */
export const refuseOver =
  (): OnBeforeStore =>
  (bytes): Promise<void> =>
    bytes.requireWithin()

/** A change of what owners store. */
export interface Storing {
  /** Id of the account that the bytes would count for. */
  readonly owner: number
  /** Bytes by kind; negative where they leave a kind for another one. */
  readonly change: Partial<Usage>
  /** Id of the account that does it. */
  readonly by: number | undefined
  /** Id of the repository. */
  readonly repository?: number | undefined
  readonly kind: StoreKind
  readonly unpackedSize?: number | undefined
  /** That of {@link BeforeStore.runVia} when absent. */
  readonly via?: BytesToStore['via'] | undefined
}

/**
 * Checks again, at the end of the write that counts the bytes.
 * @param of.repository id of the repository that this write makes
 * @param of.rest bytes of the change that are counted by later writes
 * @throws AllotError over_quota; unavailable when the repository has another owner or visibility than the
 * host was told
 */
export type CheckAgain = (
  tx: WriteContext,
  of?: { readonly repository?: number; readonly rest?: Partial<Usage> },
) => Promise<void>

interface BeforeStoreOptions {
  readonly store: Store
  readonly quota: Pick<QuotaEngine, 'requireWithin'>
  readonly owners: OwnerDirectory
  /** Undefined when the host decides nothing: then nothing is read or asked. */
  readonly onBeforeStore: OnBeforeStore | undefined
  /** Logs what `onBeforeStore` does wrong. */
  readonly onError: (error: unknown, fields: object) => void
}

/** Milliseconds within which the host must decide. */
const TIMEOUT_MS = 30_000

/** Asks the host. */
export class BeforeStore {
  readonly #options: BeforeStoreOptions
  readonly #via = new AsyncLocalStorage<BytesToStore['via']>()

  constructor(options: BeforeStoreOptions) {
    this.#options = options
  }

  /** Whether the host decides. */
  get isOn(): boolean {
    return this.#options.onBeforeStore !== undefined
  }

  /** Runs what stores bytes for a client. */
  runVia<T>(via: BytesToStore['via'], body: () => T): T {
    return this.isOn ? this.#via.run(via, body) : body()
  }

  /**
   * Asks whether bytes may be stored, once for each subject; not for those that move away. Called outside of
   * transactions, after everything else is checked.
   * @returns undefined when nothing is to be checked again
   * @throws AllotError over_quota with the sentence of the host; misconfigured when it decides nothing
   */
  async ask(storing: Storing): Promise<CheckAgain | undefined> {
    const { onBeforeStore, store, quota } = this.#options
    const kinds = (Object.keys(storing.change) as (keyof Usage)[]).filter((kind) => storing.change[kind]! > 0)
    if (onBeforeStore === undefined || kinds.length === 0) return undefined
    const named = await store.read((tx) => this.#named(tx, storing))
    // The owner was deleted meanwhile: its repositories are deleted, too, or have another owner.
    if (named === undefined) return (tx, of) => requireAsTold(tx, storing, of?.repository)
    const { owner, ...names } = named
    // The broadest one first, which says most about a limit on everything.
    const subjects = new Set(kinds.flatMap((kind) => withAncestors(subjectOf[kind]).toReversed()))
    let isWithin = false
    const pending = new Set<Promise<void>>()
    const requireWithin = () => {
      const check: Promise<void> = store
        .read((tx) => quota.requireWithin(tx, owner, subjects, storing.change))
        .then(() => {
          isWithin = true
        })
        .finally(() => pending.delete(check))
      pending.add(check)
      return check
    }
    const { kind, unpackedSize, via = this.#via.getStore() ?? 'code' } = storing
    const shared = { owner: owner.name, ...names, kind, unpackedSize, via, requireWithin }
    for (const of of kinds)
      await this.#decide(storing, async () => {
        const bytes = { ...shared, subject: subjectOf[of], size: storing.change[of]! }
        refuseOther(await onBeforeStore(bytes), pending)
      })
    return async (tx, of) => {
      await requireAsTold(tx, storing, of?.repository)
      if (!isWithin) return
      const check = quota.requireWithin(tx, owner, subjects, of?.rest)
      await check.catch((error) => Promise.reject(refusalOf(error, storing)))
    }
  }

  async #decide(storing: Storing, decide: () => Promise<void>): Promise<void> {
    const { onError } = this.#options
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      const error = new Error(`onBeforeStore has not decided within ${TIMEOUT_MS} milliseconds`)
      timer = setTimeout(() => reject(error), TIMEOUT_MS)
    })
    try {
      await Promise.race([late, decide()])
    } catch (error) {
      const refusal = refusalOf(error, storing)
      if (isRefusal(refusal) || refusal instanceof StorageError) throw refusal
      onError(error, { owner: storing.owner, repository: storing.repository, kind: storing.kind })
      throw undecided(error)
    } finally {
      clearTimeout(timer)
    }
  }

  async #named(tx: ReadTransaction, { owner, by, repository }: Storing) {
    const record = repository === undefined ? undefined : await repositories.get(tx, [repository])
    const ids = [owner, by, record?.owner].filter((id) => id !== undefined)
    const accounts = await this.#options.owners.byIds(tx, ids)
    const nameOf = (id: number | undefined) => (id === undefined ? undefined : accounts.get(id)?.name)
    const found: Owner | undefined = accounts.get(owner)
    return (
      found && {
        owner: found,
        actor: nameOf(by),
        repository: record && `${nameOf(record.owner)}/${record.name}`,
      }
    )
  }
}

/**
 * Refuses bytes that would count for another owner than the host was told, or toward another subject.
 * @throws AllotError unavailable
 */
const requireAsTold = async (
  tx: ReadTransaction,
  { owner, change, repository: asked }: Storing,
  repository = asked,
): Promise<void> => {
  if (repository === undefined) return
  const found = await repositories.get(tx, [repository])
  const { reposPublic = 0, reposPrivate = 0 } = change
  if (found?.owner === owner && (found.private ? reposPublic : reposPrivate) <= 0) return
  const message = 'nothing was stored: the owner or the visibility of the repository has changed: try again'
  throw new AllotError('unavailable', message)
}

/**
 * Refuses decisions that are neither a refusal nor an agreement, such as `false`.
 * @param pending checks that the host did not wait for, whose outcome it cannot know
 * @throws TypeError for the log
 */
const refuseOther = (decision: unknown, pending: ReadonlySet<Promise<void>>): void => {
  const expected = 'expected it to return nothing, or to throw an AllotError with the code over_quota'
  if (decision !== undefined)
    throw new TypeError(`onBeforeStore returned ${describeValue(decision)}; ${expected}`)
  if (pending.size === 0) return
  for (const check of pending) check.catch(() => undefined)
  throw new TypeError(`onBeforeStore did not wait for requireWithin(): await it; ${expected}`)
}

const isRefusal = (error: unknown): boolean =>
  error instanceof AllotError && error.code === 'over_quota' && error.message !== ''

/** The error for the person, without the names of rules, which only administrators may see. */
const refusalOf = (error: unknown, { change }: Storing): unknown => {
  if (!(error instanceof OverQuotaError)) return error
  const { subject, limit, left } = error.explanation
  const needed = formatSize(usedBy(subject, addDelta(noUsage, change)))
  const rest = `${formatSize(left !== null && left > 0 ? left : 0)} of ${formatSize(limit ?? 0)} are left`
  const message = `nothing was stored: this needs ${needed}, and ${rest}${subject === 'size:all' ? '' : ` for ${subject}`}`
  return new AllotError('over_quota', message, { cause: error })
}

const undecided = (cause: unknown): AllotError => {
  const error = new AllotError(
    'misconfigured',
    'nothing was stored: the server could not decide whether it may be, and its log says why',
    { cause },
  )
  error.isLogged = true
  return error
}
