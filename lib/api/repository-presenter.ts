import { canRead, permissionOn, repositoryById, type Viewer } from '../accounts/access.ts'
import { countsWithPending } from '../accounts/visibility.ts'
import { countOpenIssues } from '../content/issues.ts'
import { countReleases } from '../content/releases.ts'
import { AllotError } from '../errors.ts'
import { type Account, accounts, type Repository as Record } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type Repository, type RepositoryLinks, repositoryResource } from './repository-schema.ts'
import { userResource } from './user-schema.ts'

/** Where the service is, as the request reached it; without a slash at the end. */
export interface Urls {
  readonly baseUrl: string
  readonly apiUrl: string
}

const contentCounts = async (tx: ReadTransaction, { id }: Record) => {
  const [openIssues, releases] = await Promise.all([countOpenIssues(tx, id), countReleases(tx, id)])
  return { openIssues, releases }
}

/** Of a repository that was just made: there is nothing in it to be counted. */
export const nothingIn: typeof contentCounts = async () => ({ openIssues: 0, releases: 0 })

/** Records as the viewer is sent them, with their owners, permissions and parents, read in one snapshot. */
export const presentRepositories = (
  store: Store,
  viewer: Viewer,
  urls: Urls,
  records: readonly Record[],
  countsOf = contentCounts,
): Promise<Repository[]> => store.read((tx) => presentIn(tx, viewer, urls, records, countsOf))

/** The same in a snapshot that is open already. */
export const presentIn = async (
  tx: ReadTransaction,
  viewer: Viewer,
  urls: Urls,
  records: readonly Record[],
  countsOf = contentCounts,
): Promise<Repository[]> => {
  const owners = await ownersOf(tx, records)
  // An owner may have been deleted, with its repositories, after they were found.
  const standing = records.filter((record) => owners.has(record.owner))
  return Promise.all(standing.map((record) => present(tx, viewer, urls, record, owners, countsOf)))
}

export const presentRepository = async (
  store: Store,
  viewer: Viewer,
  urls: Urls,
  record: Record,
  countsOf = contentCounts,
): Promise<Repository> => {
  const [repository] = await presentRepositories(store, viewer, urls, [record], countsOf)
  if (repository === undefined) throw new AllotError('not_found', 'the repository is gone')
  return repository
}

type Owners = ReadonlyMap<number, Account>

const ownersOf = async (tx: ReadTransaction, records: readonly Record[]): Promise<Owners> => {
  const ids = [...new Set(records.map((record) => record.owner))]
  const found = await accounts.getMany(
    tx,
    ids.map((id) => [id]),
  )
  return new Map(found.flatMap((account) => (account === undefined ? [] : [[account.id, account] as const])))
}

const present = async (
  tx: ReadTransaction,
  viewer: Viewer,
  urls: Urls,
  record: Record,
  owners: Owners,
  countsOf: typeof contentCounts,
): Promise<Repository> => {
  const permissions = await permissionOn(tx, viewer, record)
  const parent = await presentParent(tx, viewer, urls, record)
  const settled = await countsWithPending(tx, record)
  // Last: a repository's first counts are not known yet, and who looks them up looks at all the rest in the same moment.
  const around = { permissions, parent, ...(await countsOf(tx, record)) }
  return resourceOf(settled, viewer, urls, owners, around)
}

const presentParent = async (
  tx: ReadTransaction,
  viewer: Viewer,
  urls: Urls,
  { parent: id }: Record,
): Promise<RepositoryLinks['parent']> => {
  const parent = id === null ? undefined : await repositoryById(tx, id)
  if (parent === undefined || !(await canRead(tx, viewer, parent))) return null
  const permissions = await permissionOn(tx, viewer, parent)
  const around = { permissions, parent: null, ...(await contentCounts(tx, parent)) }
  return { ...resourceOf(parent, viewer, urls, await ownersOf(tx, [parent]), around), parent: null }
}

const resourceOf = (
  record: Record,
  viewer: Viewer,
  { baseUrl, apiUrl }: Urls,
  owners: Owners,
  around: Omit<RepositoryLinks, 'owner'>,
): Repository => {
  const owner = owners.get(record.owner)!
  return repositoryResource(
    record,
    { owner: userResource(owner, viewer, baseUrl), ...around },
    baseUrl,
    apiUrl,
  )
}
