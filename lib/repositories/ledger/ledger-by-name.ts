/** The ledger of the quota engine, with the names of owners and repositories instead of ids. */
import { accountByName, repositoryOf } from '../../accounts/find.ts'
import { now } from '../../clock.ts'
import { describeValue, invalid, invalidMember, withLineNumber } from '../../errors.ts'
import type { QuotaEngine } from '../../quota/index.ts'
import type { Owner, OwnerDirectory } from '../../quota/owners.ts'
import type { Subject } from '../../quota/subjects.ts'
import { subjectsOf } from '../../quota/within.ts'
import { paced } from '../../records/pacing.ts'
import {
  type LedgerKind,
  type LedgerRecord,
  type Repository,
  repositories,
} from '../../records/schema/index.ts'
import type { Store, WriteContext } from '../../records/store.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import {
  checkEntry,
  checkLedgerName,
  checkListing,
  checkPutOptions,
  type LedgerItem,
  type NamedEntry,
  refuseReservedKey,
  requireObject,
} from './ledger-checks.ts'
import type { Ledger, LedgerName, LedgerOperation, PutOptions } from './ledger-types.ts'

export interface LedgerByName extends Ledger<NamedEntry> {
  /** @param unit what errors call an operation; the route has one on each line */
  batch(
    operations: readonly LedgerOperation<NamedEntry>[],
    options?: PutOptions,
    unit?: 'line' | 'operation',
  ): Promise<number>
}

interface LedgerByNameDependencies {
  readonly store: Store
  readonly quota: QuotaEngine
  readonly owners: OwnerDirectory
  /** Whether there are repositories; otherwise every entry belongs to an owner alone. */
  readonly hasRepositories: boolean
  /** Whether entries in a repository need `index` or `run`, as the types of entries say. */
  readonly requiresIndexOrRun?: boolean
}

/** Called for each entry that a transaction puts. */
type OnPut = (owner: Owner, record: Parameters<typeof subjectsOf>[0]) => void

export const createLedgerByName = (dependencies: LedgerByNameDependencies): LedgerByName => {
  const { store, owners, quota } = dependencies
  const { ledger } = quota
  const put = async (tx: WriteContext, entry: NamedEntry, onPut: OnPut) => {
    checkEntry(entry)
    const place = await placeOf(tx, dependencies, entry)
    const record = recordOf(dependencies, entry, place)
    const { replaced } = await ledger.put(tx, record)
    onPut(place.owner, record)
    return { replaced, entry: named(record, place) }
  }
  const remove = async (tx: WriteContext, name: LedgerName) => {
    refuseReservedKey(name)
    return ledger.remove(tx, name.kind, name.key)
  }
  const apply = async (
    tx: WriteContext,
    operation: LedgerOperation<NamedEntry>,
    onPut: OnPut,
  ): Promise<unknown> => {
    requireObject(operation)
    if (operation.op === 'put') return put(tx, operation, onPut)
    if (operation.op === 'delete') return remove(tx, operation)
    const { op } = operation as { op: unknown }
    throw invalidMember('op', `expected put or delete, received ${describeValue(op)}`)
  }
  const write = putsOf(dependencies)
  return {
    get: async (name) => {
      checkLedgerName(name)
      return store.read(async (tx) => {
        const record = await ledger.get(tx, name.kind, name.key)
        return record && namedEntry(tx, owners, record)
      })
    },
    list: async (listing) => {
      const { kind, ...page } = checkListing(listing)
      return store.read(async (tx) => {
        const records = await ledger.byKey(tx, kind, page)
        return Promise.all(records.map((record) => namedEntry(tx, owners, record)))
      })
    },
    put: (entry, options) => write(options, (tx, onPut) => put(tx, entry, onPut)),
    delete: (name) => quota.expiries.write((tx) => remove(tx, name)),
    batch: async (operations, options, unit = 'operation') => {
      if (!Array.isArray(operations))
        throw invalidMember('operations', `expected an array, received ${describeValue(operations)}`)
      return write(options, async (tx, onPut) => {
        for await (const [index, operation] of paced(operations.entries()))
          await withLineNumber(index + 1, () => apply(tx, operation, onPut), unit)
        return operations.length
      })
    },
  }
}

/** Runs puts in one write, which is refused unless their owners are within quota after all of them. */
const putsOf =
  ({ quota }: LedgerByNameDependencies) =>
  async <T>(
    options: PutOptions | undefined,
    body: (tx: WriteContext, onPut: OnPut) => Promise<T>,
  ): Promise<T> => {
    const within = checkPutOptions(options)
    return quota.expiries.write(async (tx) => {
      const puts = new Map<number, { owner: Owner; subjects: Set<Subject> }>()
      const result = await body(tx, (owner, record) => {
        const put = puts.get(owner.id) ?? { owner, subjects: new Set() }
        puts.set(owner.id, put)
        for (const subject of within === true ? subjectsOf(record) : (within ?? [])) put.subjects.add(subject)
      })
      for (const { owner, subjects } of puts.values())
        if (subjects.size > 0) await quota.requireWithin(tx, owner, subjects)
      return result
    })
  }

/**
 * What an entry belongs to: an owner, and the repository of this owner that has the entry; without a
 * repository, the owner alone. The owner is undefined once it was deleted.
 */
interface Place {
  readonly owner: Owner | undefined
  readonly repository: Repository | undefined
}

interface PlaceOfNew extends Place {
  readonly owner: Owner
}

const recordOf = (
  dependencies: LedgerByNameDependencies,
  entry: NamedEntry,
  { owner, repository }: PlaceOfNew,
) => {
  const { kind, key, name, size } = entry
  return {
    kind,
    key,
    owner: owner.id,
    repository: repository?.id ?? null,
    name,
    size,
    on: kind === 'attachments' ? required(entry, 'on') : null,
    index: kind === 'attachments' ? numberOf(entry, 'index', dependencies) : null,
    run: kind === 'artifacts' ? numberOf(entry, 'run', dependencies) : null,
    type: kind === 'packages' ? required(entry, 'type') : null,
    version: kind === 'packages' ? required(entry, 'version') : null,
    createdAt: now(),
    ...(entry.expiresAt === undefined ? {} : { expiresAt: Math.ceil(Number(entry.expiresAt)) }),
  }
}

const required = <M extends keyof LedgerItem>(entry: NamedEntry, member: M): NonNullable<LedgerItem[M]> => {
  const value = entry[member]
  if (value === undefined) throw invalidMember(member, `required for ${entry.kind}`)
  return value as NonNullable<LedgerItem[M]>
}

/** A number in the URL of the entry's page, which only entries in a repository have. */
const numberOf = (
  entry: NamedEntry,
  member: 'index' | 'run',
  { requiresIndexOrRun = false }: LedgerByNameDependencies,
): number | null => {
  if (requiresIndexOrRun && entry[member] === undefined && entry.repository !== undefined)
    throw invalidMember(member, `required for ${entry.kind} in a repository`)
  return entry[member] ?? null
}

/** The kinds whose entries can belong to an owner alone, although there are repositories. */
const OWNER_KINDS: readonly LedgerKind[] = ['artifacts', 'packages']

/** The owner of an entry is the owner of its repository, or the one that the entry names. */
const placeOf = async (
  tx: WriteContext,
  { owners, hasRepositories }: LedgerByNameDependencies,
  { kind, repository: path, owner: ownerName }: NamedEntry,
): Promise<PlaceOfNew> => {
  if (path !== undefined) {
    if (!hasRepositories)
      throw invalidMember('repository', 'there are no repositories here; name the owner alone')
    return repositoryPlace(tx, path)
  }
  if (hasRepositories && !OWNER_KINDS.includes(kind))
    throw invalid(
      `Repository is required for ${kind}; only ${OWNER_KINDS.join(' and ')} can belong to an owner alone`,
    )
  if (ownerName === undefined)
    throw invalid(hasRepositories ? `Repository or Owner is required for ${kind}` : 'Owner is required')
  const owner = await owners.claim(tx, ownerName)
  if (owner === undefined) throw invalidMember('owner', `there is no ${owners.title} ${ownerName}`)
  return { owner, repository: undefined }
}

const repositoryPlace = async (tx: WriteContext, path: string): Promise<PlaceOfNew> => {
  const [ownerName = '', name = '', ...rest] = path.split('/')
  const owner = rest.length === 0 ? await accountByName(tx, ownerName) : undefined
  const repository = owner && (await repositoryOf(tx, owner, name))
  if (owner === undefined || repository === undefined)
    throw invalidMember('repository', `there is no repository ${path}`)
  return { owner, repository }
}

/** The entry with the present names of its owner and repository. */
const namedEntry = async (
  tx: ReadTransaction,
  owners: OwnerDirectory,
  entry: LedgerRecord,
): Promise<NamedEntry> => {
  const repository = entry.repository === null ? undefined : await repositories.get(tx, [entry.repository])
  const id = repository?.owner ?? entry.owner!
  const owner = (await owners.byIds(tx, [id])).get(id)
  return named(entry, { owner, repository })
}

const named = (entry: Omit<LedgerRecord, 'owner'>, { owner, repository }: Place): NamedEntry => {
  const place =
    repository === undefined
      ? { owner: owner?.name ?? '' }
      : { repository: `${owner?.name}/${repository.name}` }
  const { on, index, run, type, version, expiresAt } = entry
  const expiry = expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt) }
  const details = { on, index, run, type, version }
  const present = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== null))
  return {
    kind: entry.kind,
    key: entry.key,
    ...place,
    name: entry.name,
    size: entry.size,
    ...present,
    ...expiry,
  }
}
