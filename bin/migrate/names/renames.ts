import { checkAccountName } from '../../../lib/accounts/names.ts'
import type { Account, MigrationRecord, Repository } from '../../../lib/records/schema/index.ts'
import { checkRepositoryName } from '../../../lib/repositories/names.ts'
import { UsageError } from '../../errors.ts'
import { apiPath, type Migration, OPERATOR } from '../migration.ts'
import { SourceRepository } from '../shapes.ts'
import { NAME_IS_FREE, type Source } from '../source.ts'
import type { Named, Renames } from './index.ts'

/**
 * The names of `--rename`: `OLD=NEW` for users and organizations, `OWNER/OLD=OWNER/NEW` for repositories,
 * where OWNER is the name at the source.
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
    const result = withLastName(path, name.toLowerCase())
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
 * Checks that renamed accounts and repositories exist at the source, and that nothing else has their new
 * names there.
 * @param accounts all users and organizations of the source
 * @throws Error with one sentence
 */
export const checkRenamesAt = async (
  source: Source,
  renames: Renames,
  accounts: readonly Named[],
): Promise<void> => {
  const logins = new Set(accounts.map(({ name }) => name.toLowerCase()))
  const exists = async (path: string): Promise<boolean> => {
    const [owner = '', repository] = path.split('/')
    if (repository === undefined) return logins.has(owner)
    return source.has(apiPath('repos', owner, repository), NAME_IS_FREE)
  }
  for (const [path, name] of renames) {
    const isRepository = path.includes('/')
    const what = isRepository ? 'repository' : 'user or organization named'
    if (!(await exists(path))) throw failed(path, name, `there is no ${what} ${path} at ${source.base}`)
    const wanted = withLastName(path, name.toLowerCase())
    if (wanted !== path && !renames.has(wanted) && (await exists(wanted)))
      throw failed(
        path,
        name,
        `${withLastName(path, name)} is another ${isRepository ? 'repository' : 'account'} at ${source.base}: choose another name, or rename that one too`,
      )
  }
}

/**
 * Checks that the new names are free here.
 * @throws Error with one sentence; nothing was copied
 */
export const checkRenamesHere = async (migration: Migration): Promise<void> => {
  const renames = migration.renames ?? new Map<string, string>()
  for (const [path, name] of renames) {
    const taken = renames.has(withLastName(path, name.toLowerCase()))
      ? undefined
      : await nameTaken(migration, path, name)
    if (taken !== undefined) throw failed(path, name, `${taken} exists here already: choose another name`)
  }
}

const failed = (path: string, name: string, reason: string): Error =>
  new Error(`--rename ${path}=${withLastName(path, name)}: ${reason}; nothing was copied`)

/** The name, or the path, of what has the new name here; undefined when nothing else than the copy has it. */
const nameTaken = async (
  { allot, names, migrationLog, source }: Migration,
  path: string,
  name: string,
): Promise<string | undefined> => {
  const [owner = '', old] = path.split('/')
  if (old === undefined) {
    const found = await allot.hosting.accounts.byName(name)
    return isFree(found, await migrationLog.get('account', '', names.key(path))) ? undefined : name
  }
  const account = await names.accountOf(owner)
  const found = account && (await allot.hosting.repositories.find(OPERATOR, account.name, name))
  const given = await source.get(SourceRepository, apiPath('repos', owner, old))
  const known = await migrationLog.get('repository', '', String(given.id))
  return isFree(found, known) || name.toLowerCase() === old ? undefined : `${account!.name}/${name}`
}

/**
 * Whether nothing here has the name, or only the copy that gets it. A run that was killed has not recorded
 * what it created.
 */
const isFree = (found: Account | Repository | undefined, known: MigrationRecord | undefined): boolean =>
  found === undefined || (known !== undefined && (known.copy === undefined || known.copy.id === found.id))

/** A name, or a path `owner/name`, with another name at its end. */
const withLastName = (path: string, name: string): string => [...path.split('/').slice(0, -1), name].join('/')
