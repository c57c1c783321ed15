import { formatSizeFixed } from '../../lib/byte-sizes.ts'
import { invalid } from '../../lib/errors.ts'
import { fetchFrom, usesLfs } from '../../lib/git/transfer.ts'
import {
  type Account,
  type Audience,
  audienceOf,
  type Repository,
  type Visibility,
} from '../../lib/records/schema/index.ts'
import { audienceGrants, visibilityAt } from './accounts.ts'
import { apiPath, asOperator, ifAvailable, type Migration, reportErrors } from './migration.ts'
import { type Source, SourceRepository, SourceUser } from './source.ts'
import { synchronizeGrants } from './synchronize.ts'

const MORE_VISIBLE = 'more people may see it here than at the source, so its git data is not copied'
const DIVERGED = 'some of its branches or tags have diverged here, and stay unchanged'
const LFS = 'LFS objects: copy them with `git lfs fetch --all` there and `git lfs push --all` here'
const GIT_TURNED_OFF = 'git data, because repositories are turned off here'
const MIRROR = 'mirrors, which become ordinary repositories'
const FORK = 'forks, which are independent repositories here'
const CONTENTS = 'issues, pull requests and releases'
const NOT_LOOKED_FOR = 'wikis, packages, webhooks and deploy keys, which are not looked for'
const COLLABORATORS = 'collaborators of single repositories'

/** Whether pushes are possible, as a right. The history stores this text, so it must not change. */
const WRITABLE = 'it is not archived'

export const repositoriesOf = async (
  source: Source,
  kind: Account['kind'],
  owner: string,
): Promise<SourceRepository[]> => {
  const path = kind === 'user' ? apiPath('users', owner, 'repos') : apiPath('orgs', owner, 'repos')
  const repositories = await source.list(SourceRepository, path)
  return repositories.filter((repository) => repository.owner.login.toLowerCase() === owner.toLowerCase())
}

/**
 * Copies the record of a repository, and then its git data, which an existing repository may still lack.
 * @param ownerVisibility at the source
 */
export const copyRepository = (
  migration: Migration,
  given: SourceRepository,
  ownerVisibility: Visibility,
): Promise<void> =>
  reportErrors(migration.report, `the repository ${given.full_name}`, async () => {
    const { allot, report, source } = migration
    const { accounts, repositories } = allot.hosting
    const owner = await accounts.byName(given.owner.login)
    if (owner === undefined) throw invalid('its owner does not exist here')
    const audience = audienceAt(source, ownerVisibility, given)
    const existing = await findHere(migration, owner, given)
    if (existing !== undefined) report.count('repositories', 'found')
    const repository =
      existing === undefined
        ? await createRepository(migration, owner, given, audience)
        : await synchronizeRepository(
            migration,
            owner,
            existing,
            grantsOf(audience, given.archived),
            given.name,
          )
    await reportCollaborators(migration, given)
    const { website } = given
    if (repository.empty && repository.website !== website)
      await repositories.edit(repository.id, { website })
    if (audienceHere(owner, repository) < audience) throw invalid(MORE_VISIBLE)
    if (!given.empty) await copyGitData(migration, repository, given)
  })

/** By its name, or by its id when it was copied and then renamed here. */
const findHere = async (
  { allot, history }: Migration,
  owner: Account,
  { name }: SourceRepository,
): Promise<Repository | undefined> => {
  const { repositories } = allot.hosting
  const found = await repositories.find(asOperator(0), owner.name, name)
  if (found !== undefined) return found
  const known = await history.get('repository', owner.name.toLowerCase(), name.toLowerCase())
  const renamed = known?.ids[0] === undefined ? undefined : await repositories.byId(known.ids[0])
  return renamed?.owner === owner.id ? renamed : undefined
}

/** A repository is never visible to more people than its owner is. */
const audienceAt = (source: Source, ownerVisibility: Visibility, given: SourceRepository): Audience =>
  given.private || given.internal ? audienceOf.private : audienceOf[visibilityAt(source, ownerVisibility)]

const audienceHere = (owner: Account, repository: Repository): Audience =>
  repository.private ? audienceOf.private : audienceOf[owner.visibility]

const grantsOf = (audience: Audience, archived: boolean): string[] => [
  ...audienceGrants(audience),
  ...(archived ? [] : [WRITABLE]),
]

const grantsHere = (owner: Account, repository: Repository): string[] =>
  grantsOf(audienceHere(owner, repository), repository.archived)

/**
 * @param source the rights at the source; none when the repository was deleted there
 * @param name the name at the source
 * @returns the repository as it is afterwards
 */
export const synchronizeRepository = async (
  migration: Migration,
  owner: Account,
  repository: Repository,
  source: readonly string[],
  name: string,
): Promise<Repository> => {
  const { repositories } = migration.allot.hosting
  const { id } = repository
  const subject = {
    kind: 'repository',
    scope: owner.name.toLowerCase(),
    name: name.toLowerCase(),
    id,
    label: `${owner.name}/${repository.name}`,
  } as const
  await synchronizeGrants(migration, { ...subject, here: grantsHere(owner, repository), source }, (grants) =>
    repositories.edit(id, {
      ...(grants.some((grant) => grant !== WRITABLE) && { private: true }),
      ...(grants.includes(WRITABLE) && { archived: true }),
    }),
  )
  return (await repositories.byId(id)) ?? repository
}

/** Private when its owner here is visible to more people than the repository is at the source. */
const createRepository = async (
  { allot, history, report }: Migration,
  owner: Account,
  given: SourceRepository,
  audience: Audience,
): Promise<Repository> => {
  const { repositories } = allot.hosting
  const [scope, name] = [owner.name.toLowerCase(), given.name.toLowerCase()]
  const record = { kind: 'repository', scope, name, ids: [], grants: [] } as const
  // A user who creates a repository watches it, and may no longer watch it at the source.
  const watch = { ...record, kind: 'watch', name: `${scope}/${name}` } as const
  await history.save(owner.kind === 'user' ? [record, watch] : [record])
  const { id } = await repositories.create(owner, owner, {
    name: given.name,
    description: given.description,
    private: audience > audienceOf[owner.visibility],
    defaultBranch: given.default_branch || undefined,
  })
  const { website, archived } = given
  const created = await repositories.edit(id, { website, archived })
  if (created === undefined) throw invalid('it was deleted during the migration')
  await history.save([{ ...record, ids: [id], grants: grantsHere(owner, created) }])
  report.count('repositories', 'copied')
  report.note('notCopied', NOT_LOOKED_FOR, given.full_name)
  if (given.mirror) report.note('notCopied', MIRROR, given.full_name)
  if (given.fork) report.note('notCopied', FORK, given.full_name)
  if (given.open_issues_count + given.open_pr_counter + given.release_counter > 0)
    report.note('notCopied', CONTENTS, given.full_name)
  return created
}

const reportCollaborators = async ({ source, report }: Migration, given: SourceRepository): Promise<void> => {
  const path = apiPath('repos', given.owner.login, given.name, 'collaborators')
  for (const { login } of (await ifAvailable(source.list(SourceUser, path))) ?? [])
    report.note('leftOut', COLLABORATORS, `${login} of ${given.full_name}`)
}

/**
 * Fetches branches and tags. The push journal records the fetch before git changes anything, so that the next start counts
 * what an interrupted fetch has left, and the next migration completes it.
 */
const copyGitData = async (
  { source, allot, report, git }: Migration,
  { id, empty, size }: Repository,
  given: SourceRepository,
): Promise<void> => {
  if (git === undefined) return report.note('notCopied', GIT_TURNED_OFF, given.full_name)
  if (empty) checkSize(given, git.maxPushSize)
  const { pushJournal } = allot.hosting
  let entry: number | undefined
  const url = `${source.base + apiPath(given.owner.login, given.name)}.git`
  const { code, stderr } = await fetchFrom(
    id,
    { url, authorization: source.authorization },
    {
      ...git,
      isEmpty: empty,
      async started(pid) {
        entry = await pushJournal.begin(id, pid)
      },
    },
  )
  const after = entry === undefined ? undefined : await pushJournal.settle(entry, id)
  if (code !== 0)
    throw invalid(`its git data could not be fetched: ${code === 1 && !empty ? DIVERGED : lastLine(stderr)}`)
  if (after === undefined || after.size === size) return report.count('git data', 'found')
  report.count('git data', 'copied')
  if (await usesLfs(id, git)) report.note('notCopied', LFS, given.full_name)
}

const checkSize = ({ size }: SourceRepository, maxBytes: number | undefined): void => {
  const bytes = size * 1024
  if (maxBytes !== undefined && bytes > maxBytes)
    throw invalid(
      `it has ${formatSizeFixed(bytes)}, and git.max_push_size permits ${formatSizeFixed(maxBytes)} at once`,
    )
}

/** The last line of what git prints says why it failed. */
const lastLine = (stderr: string): string =>
  stderr.split('\n').findLast((line) => line.trim() !== '') ?? 'git was stopped'
