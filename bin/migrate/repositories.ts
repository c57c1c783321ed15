import { invalid } from '../../lib/errors.ts'
import {
  type Account,
  type Audience,
  audienceOf,
  type Repository,
  type Visibility,
} from '../../lib/records/schema/index.ts'
import { copyGitData } from './git-data.ts'
import { followGrants } from './grants.ts'
import { asOperator, collect, ifAvailable, type Migration, reportErrors } from './migration.ts'
import type { Source } from './source.ts'
import { SourceRepository, SourceUser } from './source-types.ts'
import { audienceAt, audienceHere, grantsOfAudience, WRITABLE } from './visibility.ts'

export const repositoriesOf = async (
  source: Source,
  kind: Account['kind'],
  owner: string,
): Promise<SourceRepository[]> => {
  const path = `/${kind === 'user' ? 'users' : 'orgs'}/${encodeURIComponent(owner)}/repos`
  const listed = await collect(source.list(SourceRepository, path))
  return listed.filter((one) => one.owner.login.toLowerCase() === owner.toLowerCase())
}

/**
 * The record first and then its git data, which a repository that is there already may still lack.
 * @param visibility of its owner at the source
 */
export const copyRepository = (
  migration: Migration,
  given: SourceRepository,
  visibility: Visibility,
): Promise<void> =>
  reportErrors(migration.report, `the repository ${given.full_name}`, async () => {
    const { allot, report, source } = migration
    const { accounts, repositories } = allot.hosting
    const owner = await accounts.byName(given.owner.login)
    if (owner === undefined) throw invalid('its owner is not here')
    const audience = audienceAt(source, visibility, given)
    const there =
      (await repositories.find(asOperator(0), owner.name, given.name)) ??
      (await renamedHere(migration, owner, given))
    const record = there ?? (await create(migration, owner, given, audience))
    if (there === undefined) {
      report.copied('repositories')
      tellOfRest(migration, given)
    } else report.found('repositories')
    await tellOfCollaborators(migration, given)
    const rights = [...grantsOfAudience(audience), ...(given.archived === true ? [] : [WRITABLE])]
    const here =
      there === undefined ? record : await followRepository(migration, owner, record, rights, given.name)
    if (here.empty && here.website !== (given.website ?? ''))
      await repositories.edit(here.id, { website: given.website ?? '' })
    // More people would see the data here than there.
    if (audienceHere(owner, here) < audience) throw invalid(MORE_OPEN)
    if (given.empty !== true) await copyGitData(migration, here, given)
  })

const MORE_OPEN = 'more people may see it here than at the source, so no git data comes'

const renamedHere = async (
  { allot, history }: Migration,
  owner: Account,
  { name }: SourceRepository,
): Promise<Repository | undefined> => {
  const known = await history.get('repository', owner.name.toLowerCase(), name.toLowerCase())
  const found = known?.ids[0] === undefined ? undefined : await allot.hosting.repositories.byId(known.ids[0])
  return found?.owner === owner.id ? found : undefined
}

/**
 * @param source the rights at the source; none when it is gone there
 * @param name at the source
 */
export const followRepository = async (
  migration: Migration,
  owner: Account,
  record: Repository,
  source: readonly string[],
  name: string,
): Promise<Repository> => {
  const { repositories } = migration.allot.hosting
  await followGrants(
    migration,
    {
      ...{ kind: 'repository', scope: owner.name.toLowerCase(), name: name.toLowerCase() },
      ...{ id: record.id, label: `${owner.name}/${record.name}`, here: grantsOf(owner, record), source },
    },
    (grants) =>
      repositories.edit(record.id, {
        ...(grants.some((one) => one !== WRITABLE) && { private: true }),
        ...(grants.includes(WRITABLE) && { archived: true }),
      }),
  )
  return (await repositories.byId(record.id)) ?? record
}

const grantsOf = (owner: Account, record: Repository): string[] => [
  ...grantsOfAudience(audienceHere(owner, record)),
  ...(record.archived ? [] : [WRITABLE]),
]

/** Private where its owner here is known to more people than the repository is at the source. */
const create = async (
  { allot, history }: Migration,
  owner: Account,
  given: SourceRepository,
  audience: Audience,
): Promise<Repository> => {
  const { repositories } = allot.hosting
  const [scope, name] = [owner.name.toLowerCase(), given.name.toLowerCase()]
  const noted = { kind: 'repository', scope, name, ids: [], grants: [] } as const
  // A user who makes a repository watches it, and may have stopped at the source.
  const watch = { ...noted, kind: 'watch', name: `${scope}/${name}` } as const
  await history.save(owner.kind === 'user' ? [noted, watch] : [noted])
  const { id } = await repositories.create(owner, owner, {
    name: given.name,
    description: given.description ?? '',
    private: audience > audienceOf[owner.visibility],
    defaultBranch: given.default_branch || undefined,
  })
  const wanted = { website: given.website ?? '', archived: given.archived === true }
  const created = await repositories.edit(id, wanted)
  if (created === undefined) throw invalid('it was deleted meanwhile')
  await history.save([{ ...noted, ids: [id], grants: grantsOf(owner, created) }])
  return created
}

const MIRROR = 'mirrors, which are ordinary repositories here'
const FORK = 'forks, which stand alone here'
const CONTENTS = 'issues, pull requests and releases'
const UNASKED = 'wikis, packages, webhooks and deploy keys, which are not looked for'

const tellOfRest = ({ report }: Migration, given: SourceRepository): void => {
  const { open_issues_count: issues, open_pr_counter: pulls, release_counter: releases } = given
  report.behind(UNASKED, given.full_name)
  if (given.mirror === true) report.behind(MIRROR, given.full_name)
  if (given.fork === true) report.behind(FORK, given.full_name)
  if (issues + pulls + releases > 0) report.behind(CONTENTS, given.full_name)
}

const COLLABORATORS = 'collaborators of single repositories'

const tellOfCollaborators = async (
  { source, report }: Migration,
  { owner, name, full_name }: SourceRepository,
) => {
  const path = `/repos/${encodeURIComponent(owner.login)}/${encodeURIComponent(name)}/collaborators`
  for (const { login } of (await ifAvailable(collect(source.list(SourceUser, path)))) ?? [])
    report.leftOut(COLLABORATORS, `${login} of ${full_name}`)
}
