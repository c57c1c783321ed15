import { createHash } from 'node:crypto'
import type { ContentKind, Origin } from '../../lib/content/migrated-content.ts'
import type { Migrated } from '../../lib/records/schema/index.ts'
import type { Migration } from './migration.ts'

/*
 * Follows contents with texts: issues, comments, releases and attachments. Things without texts are followed by synchronize.ts.
 */

/** Names of the kinds in the report. */
const CONTENT_LABELS = {
  issue: 'issues',
  comment: 'comments',
  release: 'releases',
  attachment: 'attachments',
} as const

/** Content that the source has. */
interface SourceContent {
  /** Identifies it in every migration. */
  name: string
  /** Its name in the report. */
  label: string
  /** The members at the source. When they change, a later migration changes the copy. */
  values: Readonly<Record<string, unknown>>
}

/**
 * Content of one kind in one repository. The migration log has a digest of the values at the source for each copy, so that a
 * later migration distinguishes changes at the source, which it follows, from changes here, which it reports.
 */
export class FollowedContent {
  readonly #migration: Migration
  readonly #kind: ContentKind | 'attachment'
  readonly #known: ReadonlyMap<string, Migrated>
  readonly #seen = new Set<string>()
  readonly #scope: string

  private constructor(
    migration: Migration,
    kind: ContentKind | 'attachment',
    scope: string,
    known: readonly Migrated[],
  ) {
    this.#migration = migration
    this.#kind = kind
    this.#scope = scope
    this.#known = new Map(known.map((copy) => [copy.name, copy]))
  }

  /** @param scope `owner/repository` */
  static async open(
    migration: Migration,
    kind: ContentKind | 'attachment',
    scope: string,
  ): Promise<FollowedContent> {
    const lowered = scope.toLowerCase()
    return new FollowedContent(migration, kind, lowered, await migration.migrationLog.list(kind, lowered))
  }

  /**
   * Creates or changes the copy of a content, if that is necessary.
   * @param save saves the copy: a new one, or the one with the id
   * @returns the id of the copy; undefined when there is none
   */
  async follow(
    { name, label, values }: SourceContent,
    save: (origin: Origin, id: number | undefined) => Promise<number>,
  ): Promise<number | undefined> {
    const { report, keep, content } = this.#migration
    const kinds = CONTENT_LABELS[this.#kind]
    this.#seen.add(name)
    const origin = { scope: this.#scope, name, digest: digestOf(values) }
    const before = this.#known.get(name)
    const id = before?.ids[0]
    if (before === undefined || id === undefined) {
      const created = await save(origin, undefined)
      report.count(kinds, 'copied')
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
    if (keep) {
      report.count(kinds, 'found')
      report.note('differs', `${kinds} that were changed at the source, and are kept as they are`, label)
      return id
    }
    const changed = await save(origin, id)
    report.count(kinds, 'updated')
    return changed
  }

  /**
   * Removes the copies of items that the source no longer has. Called after all items of the source were followed.
   * @param isGone asks the source again: a list can lack an existing item when another one was deleted between two pages
   */
  async removeOthers(isGone: (name: string) => Promise<boolean>): Promise<void> {
    const { report, keep, content } = this.#migration
    for (const [name, copy] of this.#known) {
      if (this.#seen.has(name) || !(await isGone(name))) continue
      const [kinds, label] = [CONTENT_LABELS[this.#kind], `${name} (${this.#scope})`]
      if (keep) report.note('differs', `${kinds} that were removed at the source, and are kept`, label)
      else {
        await content.remove(copy)
        report.note('removed', kinds, label)
      }
    }
  }
}

export const digestOf = (values: object): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('hex')

/** Whether a record has the values, of those that both have. The author is a name there, and an id here. */
const hasValues = (record: object, { author: _, ...values }: SourceContent['values']): boolean =>
  Object.entries(values).every(
    ([member, value]) =>
      !Object.hasOwn(record, member) || (record as Record<string, unknown>)[member] === value,
  )
