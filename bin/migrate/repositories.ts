import { existing, invalid } from '../../lib/errors.ts'
import {
  type Account,
  type Audience,
  audienceOf,
  type Repository,
  type Visibility,
} from '../../lib/records/schema/index.ts'
import { DELETED, visibilityAt } from './accounts.ts'
import { Copies, removedHere } from './copies.ts'
import { apiPath, type Migration, OPERATOR, reportErrors } from './migration.ts'
import type { Names } from './names/index.ts'
import { type OwnedRepository, SourceRepository } from './shapes.ts'
import type { Source } from './source.ts'
import { digestOf, type Item, type Things, type Values } from './things.ts'

const MORE_VISIBLE = 'more people may see it here than at the source, so its contents are not copied'
const MOVED = 'repositories that have another owner here, into which nothing is copied'
const FORK =
  'forks that are ordinary repositories here, because the repository that they were forked from is not here'

/** A repository whose contents are copied. */
export interface CopiedRepository {
  readonly given: SourceRepository
  readonly owner: Account
  readonly repository: Repository
  /** Identifies it in the migration log. */
  readonly key: string
  /** Whether a migration from this source created it. */
  readonly isCopy: boolean
}

/** Path of a repository in the API of the source. */
export const repositoryPath = ({ owner, name }: SourceRepository): string =>
  apiPath('repos', owner.login, name)

export const repositoriesOf = async (
  source: Source,
  kind: Account['kind'],
  owner: string,
): Promise<SourceRepository[]> => {
  const path = kind === 'user' ? apiPath('users', owner, 'repos') : apiPath('orgs', owner, 'repos')
  const repositories = await source.list(SourceRepository, path)
  return repositories.filter((repository) => repository.owner.login.toLowerCase() === owner.toLowerCase())
}

/** Remembers all repositories of an owner. */
export const foundAll = (
  { found, listed, names }: Migration,
  { visibility }: Pick<OwnedRepository, 'visibility'>,
  name: string,
  repositories: readonly SourceRepository[],
): void => {
  for (const given of repositories) found.push({ given, visibility })
  listed.add(names.key(name))
}

/**
 * Copies the record of a repository.
 * @param ownerVisibility at the source
 * @returns undefined when its contents must not be copied
 */
export const copyRepository = async (
  migration: Migration,
  given: SourceRepository,
  ownerVisibility: Visibility,
): Promise<CopiedRepository | undefined> => {
  let copied: CopiedRepository | undefined
  await reportErrors(migration.report, `the repository ${given.full_name}`, async () => {
    const { report, source, migrationLog, names, comparison } = migration
    const { full_name: label } = given
    const owner = await names.accountOf(given.owner.login)
    if (owner === undefined) throw invalid('its owner does not exist here')
    const audience = audienceAt(source, ownerVisibility, given)
    const key = names.repositoryKey(given)
    const known = await names.repositoryWithKey(key)
    const found = known ?? (await createRepository(migration, owner, given, audience))
    if (found === undefined) return
    if (found.owner !== owner.id) return report.note('differs', MOVED, label)
    const { id } = found
    const valuesIn = (account: Account) => ({
      ...detailsOf(given),
      private: given.private || audience > audienceOf[account.visibility],
      archived: given.archived,
    })
    const outcome = await followRepository(migration, { id, key, label, valuesIn, kept: keptOf(given) })
    if (known !== undefined) report.count('repositories', outcome)
    const repository = existing(await migration.allot.hosting.repositories.byId(id), DELETED)
    if (audienceHere(owner, repository) < audience && comparison === undefined) throw invalid(MORE_VISIBLE)
    report.noteName('repositories', label, `${owner.name}/${repository.name}`)
    const record = await migrationLog.get('repository', '', key)
    copied = { given, owner, repository, key, isCopy: record?.copy?.id === repository.id }
  })
  return copied
}

/** A repository is never visible to more people than its owner is. */
export const audienceAt = (source: Source, ownerVisibility: Visibility, given: SourceRepository): Audience =>
  given.private || given.internal ? audienceOf.private : audienceOf[visibilityAt(source, ownerVisibility)]

export const audienceHere = (owner: Account, repository: Repository): Audience =>
  repository.private ? audienceOf.private : audienceOf[owner.visibility]

/** The members that can change at the source, besides rights. */
const detailsOf = ({ description, website, topics, default_branch: defaultBranch }: SourceRepository) => ({
  description,
  website,
  ...(defaultBranch === '' ? {} : { defaultBranch }),
  ...(topics ? { topics: topics.map((topic) => topic.toLowerCase()).sort() } : {}),
})

/** The source may refuse the git data of an inactive owner. */
const keptOf = ({ created_at: createdAt, updated_at: updatedAt, owner, empty }: SourceRepository) => ({
  createdAt,
  updatedAt,
  empty: owner.active ? empty : undefined,
})

type Members = ReturnType<typeof membersOf>

const membersOf = ({
  description,
  website,
  defaultBranch,
  topics = [],
  private: hidden,
  archived,
}: Repository) => ({
  description,
  website,
  defaultBranch,
  topics: [...topics].sort(),
  private: hidden,
  archived,
})

interface FollowedRepository {
  readonly id: number
  readonly key: string
  /** Its name in the report. */
  readonly label: string
  /** The values at the source for the owner here. */
  valuesIn(owner: Account): Partial<Members>
  /** What is only compared. */
  readonly kept?: Values
}

/**
 * Gives the copy of a repository the values that it has at the source, or those of a deleted repository.
 */
export const followRepository = async (
  migration: Migration,
  { id, key: name, label, valuesIn, kept = {} }: FollowedRepository,
): Promise<'found' | 'updated'> => {
  const { repositories, accounts } = migration.allot.hosting
  const read = async () => {
    const repository = existing(await repositories.byId(id), DELETED)
    return { repository, owner: existing(await accounts.byId(repository.owner), DELETED) }
  }
  const things: Things = {
    kind: 'repository',
    scope: '',
    find: async () => ({ id }),
    members: async () => membersOf((await read()).repository),
    async kept() {
      const { createdAt, updatedAt, empty } = (await read()).repository
      return { createdAt, updatedAt, empty }
    },
    remove: async () => undefined,
  }
  const itemNow = async (): Promise<Item> => {
    const { owner } = await read()
    const values = valuesIn(owner)
    return {
      name,
      label,
      values,
      kept,
      rightsOnBothSides: (here) => ({
        private: values.private || here.private,
        archived: values.archived || here.archived,
      }),
      create: async () => false,
      async edit(_, edit: Partial<Members>) {
        await repositories.edit(id, edit)
      },
    }
  }
  return new Copies(migration, things).followNarrowed(itemNow, { id })
}

/**
 * Private when its owner here is visible to more people than the repository is at the source.
 * @returns undefined when there is none to compare
 */
const createRepository = async (
  migration: Migration,
  owner: Account,
  given: SourceRepository,
  audience: Audience,
): Promise<Repository | undefined> => {
  const { allot, migrationLog, report, names, comparison } = migration
  if (comparison !== undefined) return void comparison.missing('repository', given.full_name)
  const { repositories } = allot.hosting
  const key = names.repositoryKey(given)
  const known = await migrationLog.get('repository', '', key)
  if (known?.copy !== undefined) report.note('overwritten', removedHere('repository'), given.full_name)
  const name = await freeName(migration, owner, given, key)
  const record = {
    kind: 'repository' as const,
    scope: '',
    name: key,
    original: originalOf(names, given),
  }
  // A user who creates a repository watches it, and may no longer watch it at the source.
  const watch = {
    kind: 'watch',
    scope: names.keyHere(owner),
    name: key,
  } as const
  await migrationLog.save(owner.kind === 'user' ? [record, watch] : [record])
  const created = await repositories.create(owner, owner, {
    name,
    description: given.description,
    // In a hidden account a public repository is as hidden, and stays public when the account is shown.
    private: given.private || audience > audienceOf[owner.visibility],
    archived: given.archived,
    defaultBranch: given.default_branch || undefined,
  })
  await migrationLog.save([{ ...record, copy: { id: created.id }, digest: digestOf(membersOf(created)) }])
  report.count('repositories', 'copied')
  return created
}

/** What a copy follows: the id at the source, and the name there with the key of the owner. */
export const originalOf = (names: Names, { id, name, owner }: SourceRepository) => ({
  id,
  name: `${names.key(owner.login)}/${name.toLowerCase()}`,
})

/** @throws AllotError invalid when the copy of another repository has the name */
const freeName = async (
  { allot, names }: Migration,
  owner: Account,
  given: SourceRepository,
  key: string,
): Promise<string> => {
  const name = names.wantedName(`${given.owner.login}/${given.name}`)
  const found = await allot.hosting.repositories.find(OPERATOR, owner.name, name)
  if (found === undefined || !names.isCopyOfOther('repository', found.id, key)) return name
  throw invalid(
    `name: ${owner.name}/${name} here is the copy of another repository of the source: give --rename ${given.full_name}=${given.owner.login}/NAME, or rename the copy`,
  )
}

/**
 * Makes a copied fork a fork here. Its parent is a repository of the same name, which may have been copied or
 * created here.
 */
export const linkParent = (migration: Migration, { repository, given }: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the parent of ${given.full_name}`, async () => {
    const { names, allot, report, comparison } = migration
    const found = given.fork && given.parent
    const parent = found ? await names.repositoryWithKey(names.repositoryKey(found)) : undefined
    if (given.fork && parent === undefined) report.note('notCopied', FORK, given.full_name)
    if (comparison !== undefined) {
      const current = repository.parent && (await allot.hosting.repositories.byId(repository.parent))
      const pathOf = async (one: Repository | null | undefined | 0) => (one ? names.pathOf(one) : 'none')
      const [there, here] = [await pathOf(parent), await pathOf(current)]
      return comparison.fields('repository', given.full_name, { parent: there }, { parent: here })
    }
    if (parent === undefined || repository.parent !== null) return
    if (!(await allot.hosting.forks.setParent(repository.id, parent.id)))
      report.note('notCopied', FORK, given.full_name)
  })

/** Gives a repository the dates of the source. */
export const restoreDates = async (
  { allot }: Migration,
  { repository, given, isCopy }: CopiedRepository,
): Promise<void> => {
  const { created_at: createdAt, updated_at: updatedAt = createdAt } = given
  if (isCopy && createdAt !== undefined)
    await allot.hosting.repositories.setDates(repository.id, { createdAt, updatedAt: updatedAt ?? createdAt })
}
