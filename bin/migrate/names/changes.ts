import { AllotError } from '../../../lib/errors.ts'
import type { Account, MigrationRecord, Repository } from '../../../lib/records/schema/index.ts'
import { type Migration, OPERATOR } from '../migration.ts'
import { audienceAt, audienceHere, originalOf } from '../repositories.ts'
import type { OwnedRepository } from '../shapes.ts'
import type { Named } from './index.ts'

/**
 * Gives copies the names and the owners that their originals have got since. A copy that has another name
 * than its original had, because it was chosen with `--rename` or changed here, keeps it.
 */

const REFUSED =
  'repositories and accounts that were renamed or transferred at the source, and cannot get that name or owner here'

/** A change that may have to wait until another one has made its name free. */
interface Change {
  readonly label: string
  /**
   * Absent when the copy keeps its own name.
   * @throws AllotError when it is not possible
   */
  run?(): Promise<unknown>
  /** What the copy follows from then on. */
  readonly record: MigrationRecord
}

/** @param accounts users and organizations of the source */
export const followAccountNames = (migration: Migration, accounts: readonly Named[]): Promise<void> =>
  changeAll(migration, accounts, accountChange)

/** @param found repositories of the source */
export const followRepositoryNames = (
  migration: Migration,
  found: readonly OwnedRepository[],
): Promise<void> => changeAll(migration, found, repositoryChange)

/** Each change can make a name free for another one. */
const changeAll = async <T>(
  migration: Migration,
  items: readonly T[],
  changeOf: (migration: Migration, item: T) => Promise<Change | undefined>,
): Promise<void> => {
  const { report, migrationLog } = migration
  let waiting: Change[] = []
  for (const item of items) {
    const change = await changeOf(migration, item)
    if (change !== undefined) waiting.push(change)
  }
  const refusals = new Map<Change, string>()
  for (let before = Number.POSITIVE_INFINITY; waiting.length < before; ) {
    before = waiting.length
    const refused: Change[] = []
    for (const change of waiting)
      try {
        await change.run?.()
        await migrationLog.save([change.record])
      } catch (error) {
        if (!(error instanceof AllotError)) throw error
        refusals.set(change, error.message)
        refused.push(change)
      }
    waiting = refused
  }
  for (const change of waiting) report.note('differs', REFUSED, `${change.label} (${refusals.get(change)})`)
}

/** Undefined when there is nothing to do. */
const accountChange = async (migration: Migration, { id, name }: Named): Promise<Change | undefined> => {
  const { migrationLog, names, allot } = migration
  const known = await migrationLog.get('account', '', names.key(name))
  const copy = known?.copy?.id === undefined ? undefined : await allot.hosting.accounts.byId(known.copy.id)
  if (known === undefined || copy === undefined) return undefined
  const record = { ...known, original: { id, name: name.toLowerCase() } }
  const wanted = namesToFollow(known.original?.name, copy.name, name, names.renamedTo(name))
  const change = { label: `${copy.name} to ${wanted}`, record }
  if (wanted === undefined) return known.original?.name === record.original.name ? undefined : change
  return {
    ...change,
    async run() {
      await allot.hosting.accounts.rename(copy.id, wanted, { by: OPERATOR })
      migration.report.count('names', 'updated')
    },
  }
}

/**
 * The name that a copy gets; undefined when it keeps its own.
 * @param before the name that the copy followed until now
 */
const namesToFollow = (
  before: string | undefined,
  here: string,
  there: string,
  chosen: string | undefined,
): string | undefined => {
  const lowered = here.toLowerCase()
  if (chosen !== undefined) return lowered === chosen.toLowerCase() ? undefined : chosen
  return before !== there.toLowerCase() && lowered === before ? there : undefined
}

/** Undefined when there is nothing to do. */
const repositoryChange = async (
  migration: Migration,
  { given, visibility }: OwnedRepository,
): Promise<Change | undefined> => {
  const { migrationLog, names, allot } = migration
  const { repositories } = allot.hosting
  const known = await migrationLog.get('repository', '', names.repositoryKey(given))
  const copy = known?.copy?.id === undefined ? undefined : await repositories.byId(known.copy.id)
  const owner = await names.accountOf(given.owner.login)
  // A repository whose new owner does not exist here is treated as deleted.
  if (known === undefined || copy === undefined || owner === undefined) return undefined
  const chosen = names.renamedTo(`${given.owner.login}/${given.name}`)
  const wanted = namesToFollow(known.original?.name.split('/')[1], copy.name, given.name, chosen)
  const record = { ...known, original: originalOf(names, given) }
  const change = { label: `${given.full_name} from ${copy.name}`, record }
  const isMoved = copy.owner !== owner.id
  if (wanted === undefined && !isMoved)
    return known.original?.name === record.original.name ? undefined : change
  const isPrivate = isMoved && audienceHere(owner, copy) < audienceAt(migration.source, visibility, given)
  return {
    ...change,
    async run() {
      // Never visible to more people than at the source, not even for a moment.
      if (isPrivate) await repositories.edit(copy.id, { private: true })
      await move(migration, copy, owner, wanted)
      migration.report.count('names', 'updated')
    },
  }
}

/** Either change can be impossible before the other one, because of another repository of that name. */
const move = async (
  { allot }: Migration,
  { id, owner }: Repository,
  to: Account,
  wanted: string | undefined,
): Promise<void> => {
  const { repositories } = allot.hosting
  const rename = async () => wanted !== undefined && (await repositories.edit(id, { name: wanted }))
  const transfer = async () => to.id !== owner && (await repositories.transfer(id, to.id))
  const refused = await rename().then(
    () => undefined,
    (error: unknown) => error,
  )
  if (refused !== undefined && !(refused instanceof AllotError)) throw refused
  await transfer()
  if (refused !== undefined) await rename()
}
