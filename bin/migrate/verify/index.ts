import type { OpenAllot } from '../../../lib/allot.ts'
import { copyAll, prepare, type Selected } from '../index.ts'
import { each, eachOfSeveral } from '../migration.ts'
import { type CopiedRepository, repositoriesOf } from '../repositories.ts'
import { SourceOrganization, SourceUser } from '../shapes.ts'
import { Source } from '../source.ts'
import { LIMITS } from '../source-requests.ts'
import { compareGitData, compareLfs } from './git-data.ts'
import { compareRights } from './rights.ts'
import type { Sides, VerifyOptions } from './sides.ts'

/**
 * Compares migrated data with its source, and changes nothing on either side. It does what a migration does,
 * but compares each thing where a migration would create, change or remove it. Git data, LFS objects and the
 * rights of all users it compares besides, as each server shows them. Where a migration changes a value by
 * design, the changed value is expected here.
 */
export const verifyMigration = async (options: VerifyOptions, { all, selected }: Selected): Promise<void> => {
  const { report, here } = options
  const sides: Sides = { ...(await prepare({ ...options, comparison: report }, all)), report, here }
  if ((await sides.migrationLog.list('account')).length === 0)
    throw new Error(`nothing was migrated from ${sides.source.base} into this store`)
  const isWhole = selected === all
  const copied = await copyAll(sides, selected, { isWhole })
  await eachOfSeveral('git data', copied, (one) => compareGitData(sides, one))
  await eachOfSeveral('LFS objects', copied, (one) => compareLfs(sides, one))
  await eachOfSeveral('rights', [undefined, ...selected.users], (user) => compareRights(sides, user, copied))
  await report.end()
  await each('repositories', selected.owners, ({ name }) => findRepositoriesOnlyHere(sides, name, copied))
  if (isWhole) await findAccountsOnlyHere(sides, selected)
}

const findRepositoriesOnlyHere = async (
  { names, here, report }: Sides,
  ownerName: string,
  copied: readonly CopiedRepository[],
): Promise<void> => {
  const owner = await names.accountOf(ownerName)
  if (owner === undefined) return
  const known = new Set(copied.map(({ repository }) => repository.id))
  for (const { id, full_name } of await repositoriesOf(here, owner.kind, owner.name))
    if (!known.has(id!)) report.onlyHere(full_name)
}

const findAccountsOnlyHere = async (
  { names, here, report }: Sides,
  { users, organizations }: Selected['selected'],
): Promise<void> => {
  const given = [...users.map(({ login }) => login), ...organizations.map(({ name }) => name)]
  const known = new Set<number | undefined>()
  for (const name of given) known.add((await names.accountOf(name))?.id)
  for (const { id, login } of await here.list(SourceUser, '/admin/users'))
    if (!known.has(id)) report.onlyHere(login)
  for (const { id, name } of await here.list(SourceOrganization, '/admin/orgs'))
    if (!known.has(id)) report.onlyHere(name)
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
  return Object.assign(here, { isAllot: true, isOpen: true, login: HERE })
}
