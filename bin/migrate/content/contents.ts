import type { ContentKind } from '../../../lib/content/migrated-content.ts'
import { pick } from '../../../lib/records/edits.ts'
import type { MigrationRecord } from '../../../lib/records/schema/index.ts'
import { giveOne, recordsOf } from '../copies.ts'
import type { Migration } from '../migration.ts'
import type { Item, Things, Values } from '../things.ts'
import type { Author } from './authors.ts'

/** The members that are followed. */
const MEMBERS: Readonly<Record<ContentKind, readonly string[]>> = {
  issue: ['title', 'body', 'state', 'author', 'createdAt', 'updatedAt', 'closedAt'],
  comment: ['body', 'author', 'createdAt', 'updatedAt'],
  release: [
    ...['tag', 'target', 'name', 'body', 'draft', 'prerelease'],
    ...['author', 'createdAt', 'publishedAt'],
  ],
  attachment: ['name'],
}

/** Contents of one kind in one repository, while they are read from the source. */
export interface Contents {
  readonly things: Things
  readonly known: ReadonlyMap<string, MigrationRecord>
  /** Those that the source has. */
  readonly seen: { readonly name: string }[]
}

/**
 * @param scope in the migration log
 * @param parts scopes of the comments and attachments that are removed with them
 */
export const openContents = async (
  migration: Migration,
  kind: ContentKind,
  scope: string,
  parts: { comment?: string; attachment?: string } = {},
): Promise<Contents> => {
  const { content, migrationLog, authors } = migration
  const things: Things = {
    ...{ kind, scope, savesRecords: true, hasFullLabels: true },
    find: async (_, copy) =>
      copy?.id !== undefined && (await content.find(kind, copy.id)) ? copy : undefined,
    async members({ id }) {
      const record = pick({ ...(await content.find(kind, id!)) } as Record<string, unknown>, MEMBERS[kind])
      return 'author' in record ? { ...record, author: await authors.known(record.author as number) } : record
    },
    /** Something that belongs to it was created here. */
    async isNeeded({ id }) {
      const found = await content.partsOf(kind, id!)
      if (found.length === 0) return false
      const copies = new Set<string>()
      for (const [part, own] of Object.entries(parts) as [ContentKind, string][])
        for (const { copy } of await migrationLog.list(part, own)) copies.add(`${part} ${copy?.id}`)
      return found.some((part) => !copies.has(`${part.kind} ${part.record.id}`))
    },
    remove: (_, { id }) => content.remove(kind, id!),
  }
  return { things, known: await recordsOf(migration, things), seen: [] }
}

/**
 * The values of a content to compare. An author who does not exist here is the same ghost in each run.
 * @param values of the source
 */
export const valuesOf = (kind: ContentKind, values: Values, author?: Author): Values =>
  pick({ ...values, ...(author && { author: author.name === '' ? 0 : author.id }) } as Values, MEMBERS[kind])

/** @returns the id of the copy; undefined when the report says why there is none */
export const giveContent = async (
  migration: Migration,
  { things, known, seen }: Contents,
  item: Item,
): Promise<number | undefined> => {
  seen.push({ name: item.name })
  return (await giveOne(migration, things, item, known.get(item.name)))?.id
}
