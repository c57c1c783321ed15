import type { CopyIds, MigrationRecord } from '../../lib/records/schema/index.ts'
import { type Kind, LABELS, REVOKED } from './labels.ts'
import { type Migration, reportErrors } from './migration.ts'
import { digestOf, type Item, type Things, type Values } from './things.ts'

/**
 * Copies follow the source, which is right until its users move: they are created, changed and removed as
 * there. A copy that was changed or removed here is named in the report before it is overwritten.
 *
 * The migration log has a record for each copy, with its ids here and a digest of its members as the last run
 * left them. The record is saved without ids before the copy is created, and with them afterwards, so that a
 * later run completes an interrupted one.
 *
 * Invariants: only copies are changed or removed, so what was created here stays. Rights are withdrawn
 * (`withdraw`) before others are given (`give`).
 */

/**
 * Removes the copies that the source no longer has, creates those that are missing, and changes those that
 * differ.
 * @param items everything that the source has
 */
export const synchronize = async (
  migration: Migration,
  things: Things,
  items: readonly Item[],
): Promise<void> => {
  await withdraw(migration, things, items)
  await give(migration, things, items)
}

/**
 * Removes the copies that the source no longer has, and the rights of others that it has withdrawn.
 * @param isGone asks the source again: a list can lack an existing item when another one was deleted between
 * two pages
 */
export const withdraw = async (
  migration: Migration,
  things: Things,
  items: readonly (Item | Pick<Item, 'name'>)[],
  isGone: (name: string) => Promise<boolean> = async () => true,
): Promise<void> => {
  const existing = new Map(items.map((item) => [item.name, item]))
  for (const record of await migration.migrationLog.list(things.kind, things.scope)) {
    const item = existing.get(record.name)
    if (item !== undefined && 'narrowed' in item) await narrow(migration, things, item, record)
    else if (item === undefined && (await isGone(record.name))) await removeCopy(migration, things, record)
  }
}

const narrow = async (
  migration: Migration,
  things: Things,
  item: Item,
  record: MigrationRecord,
): Promise<void> => {
  const copy = await things.find(item.name, record.copy)
  if (copy === undefined || !isCopy(record, copy)) return
  const here = await membersOf(things, copy, item.name)
  const values = item.narrowed?.(here) ?? {}
  if (differing(here, values).length > 0) await change(migration, things, item, record, copy, values)
}

/** Creates things that are missing here, and changes copies that differ. */
export const give = async (migration: Migration, things: Things, items: readonly Item[]): Promise<void> => {
  const { migrationLog, report } = migration
  const { kind, scope } = things
  const known = await recordsOf(migration, things)
  const missing: Item[] = []
  for (const item of items) {
    const record = known.get(item.name)
    const copy = await things.find(item.name, record?.copy)
    if (copy === undefined) {
      missing.push(item)
      if (record?.copy !== undefined) noteCreatedAgain(migration, things, item)
    } else
      await reportErrors(report, nameOf(things, item), async () =>
        report.count(LABELS[kind].many, await follow(migration, things, item, record, copy)),
      )
  }
  await migrationLog.save(missing.map(({ name }) => ({ kind, scope, name })))
  for (const item of missing) await createItem(migration, things, item)
}

/** What the migration log has of the things, by name. */
export const recordsOf = async (
  { migrationLog }: Migration,
  { kind, scope }: Pick<Things, 'kind' | 'scope'>,
): Promise<ReadonlyMap<string, MigrationRecord>> =>
  new Map((await migrationLog.list(kind, scope)).map((record) => [record.name, record]))

/**
 * The same for one thing whose `create` and `edit` save their record.
 * @param record what the migration log has of it
 * @returns the copy; undefined when the report says why there is none
 */
export const giveOne = async (
  migration: Migration,
  things: Things,
  item: Item,
  record: MigrationRecord | undefined,
): Promise<CopyIds | undefined> => {
  const copy = await things.find(item.name, record?.copy)
  if (copy !== undefined) {
    migration.report.count(LABELS[things.kind].many, await follow(migration, things, item, record, copy))
    return copy
  }
  if (record?.copy !== undefined) noteCreatedAgain(migration, things, item)
  const digest = digestOf(item.values ?? {})
  if (!(await item.create({ scope: things.scope, name: item.name, digest }))) return undefined
  migration.report.count(LABELS[things.kind].many, 'copied')
  const created = await migration.migrationLog.get(things.kind, things.scope, item.name)
  return created?.copy
}

const noteCreatedAgain = ({ report }: Migration, things: Things, item: Item): void =>
  report.note('overwritten', removedHere(things.kind), labelOf(things, item))

/** What the report says before the names of copies that are created again. */
export const removedHere = (kind: Kind): string => `${LABELS[kind].many} that were removed here`

/** A name in the report, with what it belongs to. */
const within = (name: string, scope: string): string => (scope === '' ? name : `${name} (${scope})`)

const labelOf = (
  { scope, hasFullLabels }: Pick<Things, 'scope' | 'hasFullLabels'>,
  { label }: Pick<Item, 'label'>,
) => (hasFullLabels ? label : within(label, scope))

/** What follows a label in a sentence: what the thing belongs to. */
const ofScope = ({ scope, hasFullLabels }: Things): string =>
  scope === '' || hasFullLabels ? '' : ` of ${scope}`

const nameOf = (things: Things, { label }: Pick<Item, 'label'>): string =>
  `the ${LABELS[things.kind].one} ${label}${ofScope(things)}`

const createItem = async (migration: Migration, things: Things, item: Item): Promise<void> => {
  const { migrationLog, report } = migration
  const { kind, scope } = things
  const record = { kind, scope, name: item.name }
  let copy: CopyIds | undefined
  await reportErrors(report, nameOf(things, item), async () => {
    if (!(await item.create(record))) return
    copy = await things.find(item.name)
    if (copy === undefined) return
    await migrationLog.save([{ ...record, copy, digest: digestOf(await membersOf(things, copy, item.name)) }])
    report.count(LABELS[kind].many, 'copied')
  })
  // Otherwise a thing that somebody makes here later would be taken for the copy.
  if (copy === undefined && (await things.find(item.name)) === undefined) await migrationLog.remove([record])
}

const membersOf = async (things: Things, copy: CopyIds, name: string): Promise<Values> =>
  (await things.members?.(copy, name)) ?? {}

/** Whether what was found here is the copy that the migration log has. A run that was killed has no ids. */
export const isCopy = (record: MigrationRecord | undefined, found: CopyIds): record is MigrationRecord => {
  if (record?.copy === undefined) return record !== undefined
  const { id, of, to } = record.copy
  return id === found.id && of === found.of && to === found.to
}

/**
 * Changes a copy that differs. What was created here stays as it is, and is reported.
 * @param values those that it gets now
 */
const follow = async (
  migration: Migration,
  things: Things,
  item: Item,
  record: MigrationRecord | undefined,
  copy: CopyIds,
  values = item.values ?? {},
): Promise<'found' | 'updated'> => {
  if (isCopy(record, copy)) return change(migration, things, item, record, copy, values)
  const members = differing(await membersOf(things, copy, item.name), item.values ?? {})
  const { many } = LABELS[things.kind]
  if (members.length > 0)
    migration.report.note(
      'differs',
      `${many} that were created here, and stay as they are`,
      labelWith(things, item, members),
    )
  return 'found'
}

/**
 * Follows an account or a repository. Rights that it does not have so far are given at the end of the run:
 * until then, it can have contents, keys or members that the source has withdrawn.
 * @param itemNow the item; asked again at the end
 */
export const followNarrowed = async (
  migration: Migration,
  things: Things,
  itemNow: () => Promise<Item>,
  copy: CopyIds,
): Promise<'found' | 'updated'> => {
  const item = await itemNow()
  const read = () => migration.migrationLog.get(things.kind, things.scope, item.name)
  const record = await read()
  const values = item.narrowed?.(await membersOf(things, copy, item.name)) ?? {}
  const outcome = await follow(migration, things, item, record, copy, values)
  if (isCopy(record, copy) && differing(values, item.values ?? {}).length > 0)
    migration.widening.push({
      kind: things.kind,
      label: item.label,
      run: async () => void (await follow(migration, things, await itemNow(), await read(), copy)),
    })
  return outcome
}

const labelWith = (things: Things, { label }: Item, members: readonly string[]): string =>
  `${label}${ofScope(things)} (${members.join(' and ')})`

const differing = (here: Values, source: Values): string[] =>
  Object.keys(source).filter((member) => JSON.stringify(here[member]) !== JSON.stringify(source[member]))

/** Gives a copy values, and reports before what it loses. */
const change = async (
  { migrationLog, report }: Migration,
  things: Things,
  item: Item,
  record: MigrationRecord,
  copy: CopyIds,
  values: Values,
): Promise<'found' | 'updated'> => {
  const here = await membersOf(things, copy, item.name)
  const digest = digestOf(here)
  const all = differing(here, item.values ?? {})
  if (all.length > 0 && record.digest !== undefined && record.digest !== digest)
    report.note(
      'overwritten',
      `${LABELS[things.kind].many} that were changed here`,
      labelWith(things, item, all),
    )
  const members = differing(here, values)
  if (members.length === 0) {
    const isKnown = all.length > 0 || (record.digest === digest && record.copy !== undefined)
    if (!isKnown) await migrationLog.save([{ ...record, copy, digest }])
    return 'found'
  }
  const edit = Object.fromEntries(members.map((member) => [member, values[member]]))
  const left = item.rights?.({ ...here, ...edit })
  for (const right of item.rights?.(here) ?? [])
    if (left?.includes(right) === false) report.note('revoked', REVOKED[right], labelOf(things, item))
  await item.edit?.(copy, edit, { ...record, digest: digestOf({ ...here, ...edit }) })
  if (things.savesRecords !== true)
    await migrationLog.save([{ ...record, copy, digest: digestOf(await membersOf(things, copy, item.name)) }])
  return 'updated'
}

/** Errors end the migration: a right that cannot be revoked must not be recorded as revoked. */
const removeCopy = async (
  { migrationLog, report }: Migration,
  things: Things,
  record: MigrationRecord,
): Promise<void> => {
  const { many, revoked } = LABELS[things.kind]
  const found = await things.find(record.name, record.copy)
  if (found !== undefined && isCopy(record, found)) {
    const label = (await things.shown?.(found)) ?? within(record.name, record.scope)
    if (await things.isNeeded?.(found, record.name))
      return report.note(
        'differs',
        `${many} that were removed at the source, and stay, since something that was created here needs them`,
        label,
      )
    if (
      record.digest !== undefined &&
      record.digest !== digestOf(await membersOf(things, found, record.name))
    )
      report.note('overwritten', `${many} that were changed here`, label)
    if (record.copy !== undefined)
      report.note(revoked === undefined ? 'removed' : 'revoked', revoked ?? many, label)
    await things.remove(record.name, found)
  }
  await migrationLog.remove([record])
}
