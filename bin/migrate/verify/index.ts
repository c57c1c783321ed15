import type { OpenAllot } from '../../../lib/allot.ts'
import { copyAll, named, prepare, type Selected, selectAll } from '../index.ts'
import { eachOfSeveral } from '../migration.ts'
import { type CopiedRepository, repositoriesOf } from '../repositories.ts'
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
  const copied = await copyAll(sides, selected, isWhole)
  await eachOfSeveral('git data', copied, (one) => compareGitData(sides, one))
  await eachOfSeveral('LFS objects', copied, (one) => compareLfs(sides, one))
  await eachOfSeveral('rights', [undefined, ...selected.users], (user) => compareRights(sides, user, copied))
  await report.end()
  await findOnlyHere(sides, selected, { copied, isWhole })
}

/** Accounts, in a comparison of everything, and repositories of the owners that the source does not have. */
const findOnlyHere = async (
  { names, here, report }: Sides,
  selected: Selected['selected'],
  { copied, isWhole }: { copied: readonly CopiedRepository[]; isWhole: boolean },
): Promise<void> => {
  const known = new Set(copied.map(({ repository }) => repository.id))
  for (const { name } of selected.owners) {
    const owner = await names.accountOf(name)
    const found = owner === undefined ? [] : await repositoriesOf(here, owner.kind, owner.name)
    for (const { id, full_name } of found) if (!known.has(id)) report.onlyHere(full_name)
  }
  const accounts = await Promise.all(named(selected).map(({ name }) => names.accountOf(name)))
  const ids = new Set(accounts.map((account) => account?.id))
  if (isWhole)
    for (const { id, name } of named(await selectAll(here))) if (!ids.has(id)) report.onlyHere(name)
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
