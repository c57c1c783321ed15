import type { OpenAllot } from '../../../lib/allot.ts'
import { named, type Owner, type Selected } from '../index.ts'
import { each, eachOfSeveral, type MigrationOptions, OPERATOR, reportErrors } from '../migration.ts'
import { Names } from '../names/index.ts'
import { repositoriesOf } from '../repositories.ts'
import { SourceOrganization, SourceUser } from '../shapes.ts'
import { Source } from '../source.ts'
import { LIMITS } from '../source-requests.ts'
import { compareRelations, compareUser } from './accounts.ts'
import type { Comparison } from './comparison.ts'
import { compareIssues, compareReleases } from './contents.ts'
import { compareGitData, compareLfs } from './git-data.ts'
import { compareOrganization } from './organizations.ts'
import { comparePackages } from './packages.ts'
import { compareQuota } from './quota.ts'
import { compareRepository, type RepositoryPair } from './repositories.ts'
import { compareRights } from './rights.ts'
import { NamesHere, type Sides } from './sides.ts'
import { compareAccountHooks, compareRepositoryHooks } from './webhooks.ts'

interface VerifyOptions extends Omit<MigrationOptions, 'report'> {
  /** The API of the store, see {@link apiHere}. */
  readonly here: Source
  readonly report: Comparison
}

/**
 * Compares migrated data with its source, field by field, and changes nothing on either side. Both are read
 * through the same API by the same code. Where a migration changes a value by design, the changed value is
 * expected here.
 */
export const verifyMigration = async (options: VerifyOptions, { all, selected }: Selected): Promise<void> => {
  const { source, allot, report } = options
  const { hosting } = allot
  const migrationLog = hosting.migrationLog(source.base)
  const names = new NamesHere(
    hosting,
    await Names.load({ migrationLog, hosting, renames: new Map() }, named(all)),
  )
  const sides: Sides = { ...options, hosting, names, teams: new Map() }
  const { users, organizations } = selected
  await each('users', users, (user) => compareUser(sides, user))
  await eachOfSeveral('organizations', organizations, (one) => compareOrganization(sides, one))
  await compareQuota(sides)
  const pairs = await compareRepositories(sides, selected.owners)
  await eachOfSeveral('git data', pairs, (pair) => compareGitData(sides, pair))
  await eachOfSeveral('LFS objects', pairs, (pair) => compareLfs(sides, pair))
  await eachOfSeveral('issues', pairs, (pair) => compareIssues(sides, pair))
  await eachOfSeveral('releases', pairs, (pair) => compareReleases(sides, pair))
  await eachOfSeveral('webhooks', pairs, (pair) => compareRepositoryHooks(sides, pair))
  await eachOfSeveral('webhooks', selected.owners, (owner) => compareAccountHooks(sides, owner))
  await eachOfSeveral('packages', selected.owners, ({ name }) => comparePackages(sides, name))
  await eachOfSeveral('follows, stars and watches', users, (user) => compareRelations(sides, user))
  await eachOfSeveral('rights', [undefined, ...users], (user) => compareRights(sides, user, pairs))
  if (selected === all) await findOnlyHere(sides, report, users, organizations)
}

const compareRepositories = async (sides: Sides, owners: readonly Owner[]): Promise<RepositoryPair[]> => {
  const pairs: RepositoryPair[] = []
  await eachOfSeveral('repositories', owners, ({ kind, name, visibility }) =>
    reportErrors(sides.report, `the repositories of ${name}`, async () => {
      const expected = new Set<number>()
      for (const given of await repositoriesOf(sides.source, kind, name)) {
        const pair = await compareRepository(sides, given, visibility)
        if (pair === undefined) continue
        pairs.push(pair)
        expected.add(pair.repository.id)
      }
      await findRepositoriesOnlyHere(sides, name, expected)
    }),
  )
  return pairs
}

/** @param expected ids of those that the source has as well */
const findRepositoriesOnlyHere = async (
  { names, here, report, hosting }: Sides,
  ownerName: string,
  expected: ReadonlySet<number>,
): Promise<void> => {
  const owner = await names.account(ownerName)
  if (owner === undefined) return
  for (const { name } of await repositoriesOf(here, owner.kind, owner.name)) {
    const repository = await hosting.repositories.find(OPERATOR, owner.name, name)
    if (repository !== undefined && !expected.has(repository.id)) report.onlyHere(`${owner.name}/${name}`)
  }
}

const findOnlyHere = async (
  { names, here }: Sides,
  report: Comparison,
  users: readonly SourceUser[],
  organizations: readonly SourceOrganization[],
): Promise<void> => {
  const given = [...users.map(({ login }) => login), ...organizations.map(({ name }) => name)]
  const known = new Set<string>()
  for (const name of given) known.add((await names.account(name))?.name.toLowerCase() ?? '')
  const accounts = [
    ...(await here.list(SourceUser, '/admin/users')).map(({ login }) => login),
    ...(await here.list(SourceOrganization, '/admin/orgs')).map(({ name }) => name),
  ]
  for (const name of accounts) if (!known.has(name.toLowerCase())) report.onlyHere(name)
}

/** Sent with each request to the API of the store: without it, a request is anonymous. */
const HERE = 'here'

/** Whether a request to the API of the store is the command's own. */
export const isOwnRequest = ({ headers }: { headers: { authorization?: string | undefined } }): boolean =>
  headers.authorization !== undefined

/**
 * The API of an opened store, read as a source is.
 * @param basePath where the configuration of the store has the API
 */
export const apiHere = ({ fetch }: Pick<OpenAllot, 'fetch'>, basePath: string): Source => {
  const send = (url: string, request: RequestInit) =>
    fetch(new Request(url.replace('/api/v1/', `${basePath}/`), request))
  const here = new Source('http://localhost', HERE, { ...LIMITS, fetch: send })
  here.isAllot = true
  here.isOpen = true
  here.login = HERE
  return here
}
