import type { CopyIds, MigrationRecord } from '../../lib/records/schema/index.ts'
import { type Kind, LABELS } from './labels.ts'
import { type Migration, reportErrors } from './migration.ts'
import { differing, digestOf, type Item, labelOf, type Things, type Values } from './things.ts'
import type { Comparison } from './verify/comparison.ts'

/**
 * Copies of one kind that follow the source, which is right until its users move: they are created, changed
 * and removed as there. A copy that was changed or removed here is named in the report before it is
 * overwritten. With a comparison, nothing is changed: the copies are compared.
 *
 * The migration log has a record for each copy, with its ids here and a digest of its members as the last run
 * left them. The record is saved without ids before the copy is created, and with them afterwards, so that a
 * later run completes an interrupted one.
 *
 * Invariants: only copies are changed or removed, so what was created here stays. Rights are withdrawn
 * (`withdraw`) before others are given (`give`).
 */
export class Copies {
  readonly #migration: Migration
  readonly #things: Things
  readonly #label: (typeof LABELS)[Kind]

  constructor(migration: Migration, things: Things) {
    this.#migration = migration
    this.#things = things
    this.#label = LABELS[things.kind]
  }

  /**
   * Removes the copies that the source no longer has, creates those that are missing, and changes those that
   * differ.
   * @param items everything that the source has
   */
  async synchronize(items: readonly Item[]): Promise<void> {
    await this.withdraw(items)
    await this.give(items)
  }

  /**
   * Removes the copies that the source no longer has, and the rights of others that it has withdrawn.
   * @param isGone asks the source again: a list can lack an existing item when another one was deleted
   * between two pages
   */
  async withdraw(
    items: readonly (Item | Pick<Item, 'name'>)[],
    isGone: (name: string) => Promise<boolean> = async () => true,
  ): Promise<void> {
    const { comparison, migrationLog } = this.#migration
    const { kind, scope } = this.#things
    if (comparison !== undefined) return comparison.atEnd(() => this.#compareOthers(comparison))
    const existing = new Map(items.map((item) => [item.name, item]))
    for (const record of await migrationLog.list(kind, scope)) {
      const item = existing.get(record.name)
      if (item !== undefined && 'rightsOnBothSides' in item) await this.#narrow(item, record)
      else if (item === undefined && (await isGone(record.name))) await this.#remove(record)
    }
  }

  async #narrow(item: Item, record: MigrationRecord): Promise<void> {
    const copy = await this.#things.find(item.name, record.copy)
    if (copy === undefined || !isCopy(record, copy)) return
    await this.#change(item, record, copy, item.rightsOnBothSides?.(await this.#membersOf(copy, item)) ?? {})
  }

  /** Creates things that are missing here, and changes copies that differ. */
  async give(items: readonly Item[]): Promise<void> {
    for (const item of items)
      await reportErrors(
        this.#migration.report,
        `the ${this.#label.one} ${this.#fullNameOf(item)}`,
        async () => {
          await this.giveOne(item)
        },
      )
  }

  /**
   * The same for one thing.
   * @returns the copy; undefined when the report says why there is none
   */
  async giveOne(item: Item): Promise<CopyIds | undefined> {
    const { report, comparison } = this.#migration
    const record = await this.#recordOf(item)
    const copy = await this.#things.find(item.name, record?.copy)
    if (comparison !== undefined) await this.#compare(comparison, item, copy)
    else if (copy !== undefined) report.count(this.#label.many, await this.#follow(item, record, copy))
    else {
      if (record?.copy !== undefined)
        report.note('overwritten', removedHere(this.#things.kind), labelOf(this.#things, item))
      return this.#create(item)
    }
    return copy
  }

  async #create(item: Item): Promise<CopyIds | undefined> {
    const { migrationLog, report } = this.#migration
    const { kind, scope, savesRecords } = this.#things
    const record = { kind, scope, name: item.name }
    if (!savesRecords) await migrationLog.save([record])
    let copy: CopyIds | undefined
    try {
      const origin = { ...record, digest: digestOf(item.values ?? {}) }
      if ((await item.isPossible?.()) === false || !(await item.create(origin))) return undefined
      copy = savesRecords ? (await this.#recordOf(item))?.copy : await this.#things.find(item.name)
      if (copy === undefined) return undefined
      await this.#saveRecord(item, record, copy)
      report.count(this.#label.many, 'copied')
      return copy
    } finally {
      // Otherwise a thing that somebody makes here later would be taken for the copy.
      if (copy === undefined && (await this.#things.find(item.name)) === undefined)
        await migrationLog.remove([record])
    }
  }

  /** Changes a copy that differs. What was created here stays as it is, and is reported. */
  async #follow(
    item: Item,
    record: MigrationRecord | undefined,
    copy: CopyIds,
    values = item.values ?? {},
  ): Promise<'found' | 'updated'> {
    if (isCopy(record, copy)) return this.#change(item, record, copy, values)
    const members = differing(await this.#membersOf(copy, item), item.values ?? {})
    this.#note('differs', `${this.#label.many} that were created here, and stay as they are`, item, members)
    return 'found'
  }

  /**
   * Follows an account or a repository. Rights that it does not have so far are given at the end of the run:
   * until then, it can have contents, keys or members that the source has withdrawn. One that was created has
   * none, and no digest in its record, and gets its rights with the members of organizations and teams.
   * @param itemNow the item; asked again at the end
   */
  async followNarrowed(itemNow: () => Promise<Item>, copy: CopyIds): Promise<'found' | 'updated'> {
    const { comparison, widening, giving, report, migrationLog } = this.#migration
    const item = await itemNow()
    if (comparison !== undefined) {
      await this.#compareCopy(comparison, item, copy)
      return 'found'
    }
    const known = await this.#recordOf(item)
    // A run that was killed has not saved the id.
    const record = known && { ...known, copy: known.copy ?? copy }
    if (record !== undefined && known?.copy === undefined) await migrationLog.save([record])
    const values = { ...item.values, ...item.rightsOnBothSides?.(await this.#membersOf(copy, item)) }
    const outcome = await this.#follow(item, record, copy, values)
    if (!isCopy(record, copy) || differing(values, item.values ?? {}).length === 0) return outcome
    const { kind } = this.#things
    const widened = async () => {
      const now = await itemNow()
      await this.#follow(now, await this.#recordOf(now), copy)
    }
    if (record.digest !== undefined) widening.push({ kind, label: item.label, run: widened })
    else giving.push(() => reportErrors(report, `the ${this.#label.one} ${item.label}`, widened))
    return outcome
  }

  /** Gives a copy values, and reports before what it loses. */
  async #change(
    item: Item,
    record: MigrationRecord,
    copy: CopyIds,
    values: Values,
  ): Promise<'found' | 'updated'> {
    const { many } = this.#label
    const here = await this.#membersOf(copy, item)
    const digest = digestOf(here)
    const all = differing(here, item.values ?? {})
    if (record.digest !== undefined && record.digest !== digest)
      this.#note('overwritten', `${many} that were changed here`, item, all)
    const members = differing(here, values)
    if (members.length === 0) {
      const isKnown = all.length > 0 || (record.digest === digest && record.copy !== undefined)
      if (!isKnown) await this.#migration.migrationLog.save([{ ...record, copy, digest }])
      return 'found'
    }
    const left = item.rightsOnBothSides?.(here) ?? {}
    const revoked = differing(here, left).map(
      (member) => `${member}: ${JSON.stringify(here[member])} → ${JSON.stringify(left[member])}`,
    )
    this.#note('revoked', many, item, revoked)
    const edit = Object.fromEntries(members.map((member) => [member, values[member]]))
    await item.edit?.(copy, edit, { ...record, digest: digestOf({ ...here, ...edit }) })
    // No digest before it got its first rights: the next run gives what one that was killed has not given.
    const isWhole = differing({ ...here, ...edit }, item.values ?? {}).length === 0
    if (isWhole || record.digest !== undefined) await this.#saveRecord(item, record, copy)
    return 'updated'
  }

  /** Errors end the migration: a right that cannot be revoked must not be recorded as revoked. */
  async #remove(record: MigrationRecord): Promise<void> {
    const { migrationLog, report } = this.#migration
    const { many } = this.#label
    const found = await this.#things.find(record.name, record.copy)
    if (found !== undefined && isCopy(record, found)) {
      const label = (await this.#things.shown?.(found, record.name)) ?? record.name
      const shown = labelOf(this.#things, { label })
      if (await this.#things.isNeeded?.(found, record.name))
        return report.note('differs', `${many} ${NEEDED}`, shown)
      const digest = record.digest && digestOf(await this.#membersOf(found, record))
      if (record.digest !== digest) report.note('overwritten', `${many} that were changed here`, shown)
      if (record.copy !== undefined) report.note('removed', many, shown)
      await this.#things.remove(record.name, found)
    }
    await migrationLog.remove([record])
  }

  #recordOf({ name }: Pick<Item, 'name'>): Promise<MigrationRecord | undefined> {
    return this.#migration.migrationLog.get(this.#things.kind, this.#things.scope, name)
  }

  /** Completes the record of a copy that was created or changed. */
  async #saveRecord(
    item: Item,
    record: Pick<MigrationRecord, 'kind' | 'scope' | 'name'>,
    copy: CopyIds,
  ): Promise<void> {
    if (this.#things.savesRecords) return
    const digest = digestOf(await this.#membersOf(copy, item))
    await this.#migration.migrationLog.save([{ ...record, copy, digest }])
  }

  async #membersOf(copy: CopyIds, { name }: Pick<Item, 'name'>): Promise<Values> {
    return (await this.#things.members?.(copy, name)) ?? {}
  }

  /** The label with what the thing belongs to, in a sentence. */
  #fullNameOf({ label }: Item): string {
    const { within } = this.#things
    return within === undefined ? label : `${label} of ${within}`
  }

  #note(
    section: 'differs' | 'overwritten' | 'revoked',
    what: string,
    item: Item,
    members: readonly string[],
  ): void {
    if (members.length > 0)
      this.#migration.report.note(section, what, `${this.#fullNameOf(item)} (${members.join(' and ')})`)
  }

  get #one(): string {
    return this.#things.one ?? this.#label.one
  }

  /** @param copy undefined: there is none */
  async #compare(comparison: Comparison, item: Item, copy: CopyIds | undefined): Promise<void> {
    if (copy !== undefined) {
      comparison.see(this.#things.kind, copy)
      await this.#compareCopy(comparison, item, copy)
    } else if ((await item.isPossible?.()) === false) return
    else comparison.missing(this.#one, labelOf(this.#things, item))
    comparison.count(this.#label.many, 'found')
  }

  async #compareCopy(comparison: Comparison, item: Item, copy: CopyIds): Promise<void> {
    const here = { ...(await this.#membersOf(copy, item)), ...(await this.#things.kept?.(copy)) }
    comparison.fields(this.#one, labelOf(this.#things, item), { ...item.values, ...item.kept }, here)
  }

  /** Names the things that exist only here. */
  async #compareOthers(comparison: Comparison): Promise<void> {
    for (const { copy, label } of (await this.#things.list?.()) ?? [])
      if (!comparison.hasSeen(this.#things.kind, copy))
        comparison.additional(this.#one, labelOf(this.#things, { label }))
  }
}

const NEEDED = 'that were removed at the source, and stay, since something that was created here needs them'

/** What the report says before the names of copies that are created again. */
export const removedHere = (kind: Kind): string => `${LABELS[kind].many} that were removed here`

/** Whether what was found here is the copy that the migration log has. A run that was killed has no ids. */
const isCopy = (record: MigrationRecord | undefined, found: CopyIds): record is MigrationRecord => {
  if (record?.copy === undefined) return record !== undefined
  const { id, of, to } = record.copy
  return id === found.id && of === found.of && to === found.to
}
