import { checkAccountName } from '../../../lib/accounts/names.ts'
import type { Account, MigrationRecord, Repository } from '../../../lib/records/schema/index.ts'
import { checkRepositoryName } from '../../../lib/repositories/names.ts'
import { UsageError } from '../../errors.ts'
import { apiPath, type Migration, OPERATOR } from '../migration.ts'
import { type Renames, textOf } from './index.ts'
import type { Named } from './known-names.ts'

/**
 * The names of `--rename`: `OLD=NEW` for users and organizations, `OWNER/OLD=OWNER/NEW` for repositories, where OWNER is the
 * name at the source.
 * @throws UsageError when a value is not a pair of names, or when two pairs contradict each other
 */
export const parseRenames = (values: readonly string[]): Renames => {
  const renames = new Map<string, string>()
  const taken = new Set<string>()
  for (const value of values) {
    const refuse = (reason: string): never => {
      throw new UsageError(`--rename ${value}: ${reason}`)
    }
    const [, old = '', chosen = ''] = /^([^=]+)=([^=]+)$/.exec(value) ?? []
    if (old === '') refuse('expected OLD=NEW, or OWNER/OLD=OWNER/NEW for a repository')
    const [path, name] = [old.toLowerCase(), nameIn(old, chosen, refuse)]
    const result = path.replace(/(?<![^/])[^/]*$/, () => name.toLowerCase())
    if (renames.has(path)) refuse(`${old} is given twice`)
    if (taken.has(result)) refuse(`${chosen} is given twice`)
    renames.set(path, name)
    taken.add(result)
  }
  return renames
}

const nameIn = (old: string, chosen: string, refuse: (reason: string) => never): string => {
  const [before, after] = [old.split('/'), chosen.split('/')]
  if (before.length > 2 || before.length !== after.length || [...before, ...after].includes(''))
    refuse('expected OLD=NEW, or OWNER/OLD=OWNER/NEW for a repository')
  if (before.length === 2 && before[0]!.toLowerCase() !== after[0]!.toLowerCase())
    refuse('a repository keeps its owner: name the same one on both sides, as it is called at the source')
  const name = after.at(-1)!
  try {
    if (before.length === 2) checkRepositoryName(name)
    else checkAccountName(name)
  } catch (error) {
    refuse((error as Error).message)
  }
  return name
}

/**
 * Checks that renamed accounts and repositories exist at the source, and that their new names are free on both sides.
 * @param accounts all users and organizations of the source
 * @throws Error with one sentence; nothing was copied
 */
export const checkRenames = async (migration: Migration, accounts: readonly Named[]): Promise<void> => {
  const logins = new Set(accounts.map(({ name }) => name.toLowerCase()))
  for (const [path, name] of migration.renames ?? [])
    if (path.includes('/')) await checkRepository(migration, path, name)
    else await checkAccount(migration, logins, path, name)
}

const failed = (path: string, name: string, reason: string): Error => {
  const chosen = path.replace(/(?<![^/])[^/]*$/, () => name)
  return new Error(`--rename ${path}=${chosen}: ${reason}; nothing was copied`)
}

const checkAccount = async (
  { allot, names, source, renames, migrationLog }: Migration,
  logins: ReadonlySet<string>,
  old: string,
  name: string,
): Promise<void> => {
  if (!logins.has(old))
    throw failed(old, name, `there is no user or organization named ${old} at ${source.base}`)
  const wanted = name.toLowerCase()
  if (wanted !== old && logins.has(wanted) && !renames?.has(wanted))
    throw failed(
      old,
      name,
      `${name} is another account at ${source.base}: choose another name, or rename that one too`,
    )
  const [found, known] = [
    await allot.hosting.accounts.byName(name),
    await migrationLog.get('account', '', names.key(old)),
  ]
  if (!isFree(found, known) && !renames?.has(wanted))
    throw failed(old, name, `${name} exists here already: choose another name`)
}

/** Whether nothing here has the name, or only the copy that gets it. A run that was killed has not recorded what it created. */
const isFree = (found: Account | Repository | undefined, known: MigrationRecord | undefined): boolean =>
  found === undefined || (known !== undefined && (known.ids.length === 0 || known.ids.includes(found.id)))

const checkRepository = async (
  { allot, names, source, renames, migrationLog }: Migration,
  path: string,
  name: string,
): Promise<void> => {
  const [owner = '', old = ''] = path.split('/')
  const exists = async (repository: string) =>
    (await source.request(apiPath('repos', owner, repository))).status === 200
  if (!(await exists(old))) throw failed(path, name, `there is no repository ${path} at ${source.base}`)
  const isOther = name.toLowerCase() !== old && !renames?.has(`${owner}/${name.toLowerCase()}`)
  if (isOther && (await exists(name)))
    throw failed(path, name, `${owner}/${name} is another repository at ${source.base}: choose another name`)
  const account = await names.accountOf(owner)
  const key = names.repositoryKey(owner, old)
  const found = account && (await allot.hosting.repositories.find(OPERATOR, account.name, name))
  if (isOther && !isFree(found, await migrationLog.get('repository', key.scope, key.name)))
    throw failed(
      path,
      name,
      `${textOf({ scope: account!.name, name })} exists here already: choose another name`,
    )
}
