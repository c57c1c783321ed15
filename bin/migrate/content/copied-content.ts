import type { ContentKind, Origin } from '../../../lib/content/migrated-content.ts'
import type { MigrationRecord } from '../../../lib/records/schema/index.ts'
import { compareMembers, digestOf, type Values, wasChangedHere } from '../details.ts'
import type { Migration } from '../migration.ts'

/**
 * Follows contents with texts: issues, comments, releases and attachments. Things without texts are followed
 * by synchronize.ts.
 */

/** Names of the kinds in the report. */
const CONTENT_LABELS = {
  issue: 'issues',
  comment: 'comments',
  release: 'releases',
  attachment: 'attachments',
} as const

const REMOVED_THERE =
  'that were removed at the source, and stay, since they or what belongs to them was changed or created here'

/** Content that the source has. */
interface SourceContent {
  /** Identifies it in every migration. */
  name: string
  /** Its name in the report. */
  label: string
  /** The members at the source. When one of them changes, a later migration changes it in the copy. */
  values: Values
}

/**
 * Content of one kind in one repository. The migration log has a digest of each value for each copy, so that
 * a later migration distinguishes values that the source has changed, which it follows, from those that were
 * changed here, or on both sides, which it reports.
 */
export class FollowedContent {
  readonly #migration: Migration
  readonly #kind: ContentKind | 'attachment'
  readonly #known: ReadonlyMap<string, MigrationRecord>
  readonly #seen = new Set<string>()
  readonly #scope: string
  readonly #parts: readonly FollowedContent[]
  #byCopy: ReadonlyMap<number | undefined, MigrationRecord> | undefined
  /** Ids of copies that stay with what they belong to. */
  readonly #kept = new Set<number>()

  private constructor(
    migration: Migration,
    kind: ContentKind | 'attachment',
    scope: string,
    known: readonly MigrationRecord[],
    parts: readonly FollowedContent[],
  ) {
    this.#migration = migration
    this.#kind = kind
    this.#scope = scope
    this.#known = new Map(known.map((record) => [record.name, record]))
    this.#parts = parts
  }

  /**
   * @param scope `owner/repository`
   * @param parts comments and attachments, which are removed with what they belong to
   */
  static async open(
    migration: Migration,
    kind: ContentKind | 'attachment',
    scope: string,
    parts: readonly FollowedContent[] = [],
  ): Promise<FollowedContent> {
    const lowered = scope.toLowerCase()
    const known = await migration.migrationLog.list(kind, lowered)
    return new FollowedContent(migration, kind, lowered, known, parts)
  }

  /**
   * Creates or changes the copy of a content, if that is necessary.
   * @param save saves the copy: a new one, or the one with the id, which keeps the members `kept`; returns
   * undefined when the report says why there is no copy
   * @returns the id of the copy; undefined when there is none
   */
  async follow(
    { name, label, values }: SourceContent,
    save: (origin: Origin, kept: object, id?: number) => Promise<number | undefined>,
  ): Promise<number | undefined> {
    const { report, content } = this.#migration
    const kinds = CONTENT_LABELS[this.#kind]
    this.#seen.add(name)
    const origin = { scope: this.#scope, name, digest: digestOf(values) }
    const before = this.#known.get(name)
    const id = before?.copy?.id
    if (before === undefined || id === undefined) {
      const { digests } = compareMembers(undefined, joined(values), joined(values), false)
      const created = await save({ ...origin, digests }, {})
      if (created !== undefined) report.count(kinds, 'copied')
      return created
    }
    const here = await content.find(this.#kind, id)
    if (here === undefined) {
      report.note('differs', `${kinds} that were removed here, and stay removed`, label)
      return undefined
    }
    if (before.digest === origin.digest) {
      report.count(kinds, 'found')
      if (!hasValues(here, values)) report.note('differs', `${kinds} that were changed here`, label)
      return id
    }
    const { kept, onBothSides, digests } = compareMembers(before, joined(values, here), joined(values), false)
    if (onBothSides.some((member) => member !== 'updatedAt'))
      report.note(
        'differs',
        `${kinds} that were changed on both sides, and keep what was changed here`,
        label,
      )
    const changed = await save({ ...origin, digests }, membersOf(here, kept), id)
    report.count(kinds, 'updated')
    return changed
  }

  /**
   * Removes the copies of items that the source no longer has. A copy that was changed here, or to which
   * something belongs that was changed or created here, stays with everything that belongs to it. Called
   * after all items of the source were followed, and for parts after what they belong to.
   * @param isGone asks the source again: a list can lack an existing item when another one was deleted
   * between two pages. Absent for attachments, which the source sends together with what they belong to
   */
  async removeOthers(isGone: (name: string) => Promise<boolean> = async () => true): Promise<void> {
    for (const [name, record] of this.#known)
      if (!this.#seen.has(name) && (await isGone(name))) await this.#removeOther(record)
  }

  async #removeOther(record: MigrationRecord): Promise<void> {
    const { report, content, migrationLog } = this.#migration
    const [kinds, label] = [CONTENT_LABELS[this.#kind], `${record.name} (${this.#scope})`]
    const id = record.copy?.id
    const here = id === undefined ? undefined : await content.find(this.#kind, id)
    // Removed here, perhaps with what it belonged to.
    if (id === undefined || here === undefined) return migrationLog.remove([record])
    if (this.#kept.has(id)) return
    if (await this.#hasOwnChanges(id, here)) return report.note('differs', `${kinds} ${REMOVED_THERE}`, label)
    await content.remove(record)
    report.note('removed', kinds, label)
  }

  /**
   * Whether a copy, or something that belongs to it, was changed or created here. Then its parts stay with
   * it.
   */
  async #hasOwnChanges(id: number, here: object): Promise<boolean> {
    const found = await this.#migration.content.partsOf(this.#kind, id)
    const parts = found.map(({ kind, record }) => ({
      record,
      followed: this.#parts.find((part) => part.#kind === kind)!,
    }))
    const isOwn =
      this.#isOwn(id, here) || parts.some(({ followed, record }) => followed.#isOwn(record.id, record))
    if (isOwn) for (const { followed, record } of parts) followed.#kept.add(record.id)
    return isOwn
  }

  /** Whether a record was created here, or is a copy that was changed here. */
  #isOwn(id: number, here: object): boolean {
    this.#byCopy ??= new Map([...this.#known.values()].map((record) => [record.copy?.id, record]))
    const record = this.#byCopy.get(id)
    const members = record?.digests?.map(({ member }) => member) ?? []
    return record === undefined || wasChangedHere(record, joinedMembers(membersOf(here, members), members))
  }
}

/** Times that say when another member got its value, so that a copy has both from one side. */
const TIMES: Readonly<Record<string, string>> = { state: 'closedAt', draft: 'publishedAt' }

/**
 * The members to compare, with their times. The author is none: it is a name at the source, and an id here.
 * @param record the copy, whose members take the place of these
 */
const joined = ({ author: _, ...values }: Values, record: object = {}): Values => {
  const all: Values = { ...values, ...membersOf(record, Object.keys(values)) }
  const times = Object.values(TIMES)
  const members = Object.keys(all).filter((member) => !times.includes(member))
  return joinedMembers(all, members)
}

const joinedMembers = (all: Values, members: readonly string[]): Values =>
  Object.fromEntries(
    members.map((member) => [member, TIMES[member] ? [all[member], all[TIMES[member]]] : all[member]]),
  )

/** Members of a record that it has, with their times. */
const membersOf = (record: object, names: readonly string[]): Values => {
  const wanted = names.flatMap((name) => [name, TIMES[name] ?? name])
  return Object.fromEntries(Object.entries(record).filter(([member]) => wanted.includes(member)))
}

/** Whether a record has the values, of those that both have. The author is a name there, and an id here. */
const hasValues = (record: object, { author: _, ...values }: SourceContent['values']): boolean =>
  Object.entries(values).every(
    ([member, value]) =>
      !Object.hasOwn(record, member) || (record as Record<string, unknown>)[member] === value,
  )
