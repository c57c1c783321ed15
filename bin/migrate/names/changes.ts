import { AllotError } from '../../../lib/errors.ts'
import type { Account, MigrationRecord, Repository } from '../../../lib/records/schema/index.ts'
import { type Migration, OPERATOR } from '../migration.ts'
import { audienceAt, audienceHere, type OwnedRepository, originalOf } from '../repositories.ts'
import type { Named } from './known-names.ts'

/**
 * Gives copies the names and the owners that their originals have got since. A copy that has another name
 * than its original had, because it was chosen with `--rename` or changed here, keeps it.
 */

const REFUSED =
  'repositories and accounts that were renamed or transferred at the source, and cannot get that name or owner here'

/** A change that may have to wait until another one has made its name free. */
interface Change {
  readonly label: string
  /** @throws AllotError when it is not possible */
  run(): Promise<unknown>
  /** Remembers what the copy follows now. */
  done(): Promise<void>
  /** Why it was not possible so far. */
  refusal?: string | undefined
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
  const { report } = migration
  let waiting: Change[] = []
  for (const item of items) {
    const change = await changeOf(migration, item)
    if (change !== undefined) waiting.push(change)
  }
  for (let before = Number.POSITIVE_INFINITY; waiting.length < before; ) {
    before = waiting.length
    const refused: Change[] = []
    for (const change of waiting) {
      change.refusal = await refusalOf(change)
      if (change.refusal === undefined) report.count('names', 'updated')
      else refused.push(change)
    }
    waiting = refused
  }
  for (const { label, refusal } of waiting) report.note('differs', REFUSED, `${label} (${refusal})`)
}

/** Undefined when there is nothing to do. */
const accountChange = async (migration: Migration, { id, name }: Named): Promise<Change | undefined> => {
  const { migrationLog, names, allot } = migration
  const known = await migrationLog.get('account', '', names.key(name))
  const copy = known?.copy?.id === undefined ? undefined : await allot.hosting.accounts.byId(known.copy.id)
  if (known === undefined || copy === undefined) return undefined
  const original = id === undefined ? {} : { original: { id, name: name.toLowerCase() } }
  const done = () => remember(migration, known, original)
  const wanted = namesToFollow(known.original?.name, copy.name, name, names.renamedTo(name))
  if (wanted === undefined) return void (await done())
  return {
    label: `${copy.name} to ${wanted}`,
    run: () => allot.hosting.accounts.rename(copy.id, wanted, { by: OPERATOR }),
    done,
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
  const isChanged = before !== undefined && before !== there.toLowerCase()
  return isChanged && lowered === before ? there : undefined
}

/** Saves the id and the name at the source that a copy follows now. */
const remember = async (
  { migrationLog, comparison }: Migration,
  known: MigrationRecord,
  { original }: Pick<MigrationRecord, 'original'>,
): Promise<void> => {
  if (original === undefined || comparison !== undefined) return
  if (known.original?.id === original.id && known.original.name === original.name) return
  await migrationLog.save([{ ...known, original }])
}

/** @returns why it is not possible */
const refusalOf = async (change: Change): Promise<string | undefined> => {
  try {
    await change.run()
  } catch (error) {
    if (!(error instanceof AllotError)) throw error
    return error.message
  }
  await change.done()
  return undefined
}

/** Undefined when there is nothing to do. */
const repositoryChange = async (
  migration: Migration,
  { given, visibility }: OwnedRepository,
): Promise<Change | undefined> => {
  const { migrationLog, names, allot } = migration
  const key = names.repositoryKey(given.owner.login, given.name, given.id)
  const known = await migrationLog.get('repository', '', key)
  const copy =
    known?.copy?.id === undefined ? undefined : await allot.hosting.repositories.byId(known.copy.id)
  const owner = await names.accountOf(given.owner.login)
  // A repository whose new owner does not exist here is treated as deleted.
  if (known === undefined || copy === undefined || owner === undefined) return undefined
  const chosen = names.renamedTo(`${given.owner.login}/${given.name}`)
  const wanted = namesToFollow(known.original?.name.split('/')[1], copy.name, given.name, chosen)
  const isMoved = copy.owner !== owner.id
  const done = () => remember(migration, known, originalOf(names, given))
  if (wanted === undefined && !isMoved) return void (await done())
  const isPrivate = isMoved && audienceHere(owner, copy) < audienceAt(migration.source, visibility, given)
  return {
    label: `${given.full_name} from ${known.original?.name ?? copy.name}`,
    async run() {
      // Never visible to more people than at the source, not even for a moment.
      if (isPrivate) await allot.hosting.repositories.edit(copy.id, { private: true })
      await move(migration, copy, owner, wanted)
    },
    done,
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
