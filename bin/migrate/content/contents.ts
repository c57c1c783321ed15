import type { ContentKind, Origin } from '../../../lib/content/migrated-content.ts'
import { pick } from '../../../lib/records/edits.ts'
import { allItems } from '../../../lib/records/pages.ts'
import type { Attachment } from '../../../lib/records/schema/index.ts'
import { Copies } from '../copies.ts'
import { apiPath, isDeleted, type Migration, OPERATOR } from '../migration.ts'
import type { CopiedRepository } from '../repositories.ts'
import type { SourceAttachment } from '../shapes.ts'
import type { Item, Things, Values } from '../things.ts'
import type { Author } from './authors.ts'

const LINKS = 'attachments that are links to other servers'
const BEYOND_LIMIT = 'attachments beyond those that an issue, a comment or a release can have'

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

/** The members that are only compared. */
const KEPT: Partial<Record<ContentKind, readonly string[]>> = { attachment: ['size', 'createdAt'] }

/** Contents of one kind in one repository, while they are read from the source. */
interface Contents {
  readonly things: Things
  /** Those that the source has. */
  readonly seen: { readonly name: string }[]
}

/** Issues or releases. */
type RootKind = 'issue' | 'release'

/** The issues or the releases of one repository, with what belongs to them. */
export interface RepositoryContents {
  readonly roots: Contents
  readonly comments: Contents
  readonly attachments: Contents
}

export const openContents = (
  migration: Migration,
  copied: CopiedRepository,
  root: RootKind,
): RepositoryContents => {
  const scope = copied.key
  const attachment = `${scope}/${root}s`
  const comment = root === 'issue' ? scope : attachment
  const open = (kind: ContentKind, own: string, parts: Parts = {}): Contents => ({
    things: {
      ...contentThings(migration, kind, own, parts),
      shown: async (_, name) => `${name} (${copied.given.full_name})`,
      list: () =>
        kind === root ? rootsHere(migration, copied, root) : partsHere(migration, copied, root, kind),
    },
    seen: [],
  })
  return {
    roots: open(root, scope, { comment, attachment }),
    comments: open('comment', comment, { attachment }),
    attachments: open('attachment', attachment),
  }
}

/** Scopes of the comments and attachments that are removed with a content. */
type Parts = Partial<Record<'comment' | 'attachment', string>>

const contentThings = (migration: Migration, kind: ContentKind, scope: string, parts: Parts): Things => {
  const { content, migrationLog, authors } = migration
  const membersIn = async (id: number | undefined, names: readonly string[] = []) =>
    pick({ ...(await content.find(kind, id!)) } as Record<string, unknown>, names)
  return {
    kind,
    scope,
    savesRecords: true,
    find: async (_, copy) =>
      copy?.id !== undefined && (await content.find(kind, copy.id)) ? copy : undefined,
    async members({ id }) {
      const record = await membersIn(id, MEMBERS[kind])
      return 'author' in record ? { ...record, author: await authors.keyOf(record.author as number) } : record
    },
    kept: ({ id }) => membersIn(id, KEPT[kind]),
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
}

type Listed = Awaited<ReturnType<NonNullable<Things['list']>>>

/** All issues or releases of a repository of this server, also those that no migration created. */
const rootsHere = async (
  { allot }: Migration,
  { owner, repository, given }: CopiedRepository,
  root: RootKind,
): Promise<Listed> => {
  const { issues, releases } = allot.hosting
  const path = { owner: owner.name, name: repository.name }
  const copyOf = ({ id }: { id: number }, name: string) => ({ copy: { id }, label: given.full_name + name })
  if (root === 'issue') {
    const all = await allItems(
      async (slice) => (await issues.list(OPERATOR, path, { state: 'all' }, slice))?.page,
    )
    return all.map((issue) => copyOf(issue, `#${issue.number}`))
  }
  const all = await allItems(async (slice) => (await releases.list(OPERATOR, path, {}, slice))?.page)
  return all.map((release) => copyOf(release, ` ${release.tag}`))
}

/** What belongs to issues or releases here. Of those that exist only here, the parts are not named. */
const partsHere = async (
  migration: Migration,
  copied: CopiedRepository,
  root: RootKind,
  kind: ContentKind,
): Promise<Listed> => {
  const found: Listed[number][] = []
  for (const { copy, label } of await rootsHere(migration, copied, root)) {
    if (migration.comparison?.hasSeen(root, copy) !== true) continue
    for (const part of await migration.content.partsOf(root, copy.id!))
      if (part.kind === kind)
        found.push({
          copy: { id: part.record.id },
          label: part.kind === 'attachment' ? fileLabel(part.record.name, label) : label,
        })
  }
  return found
}

/**
 * Removes what the source no longer has. Parts first: what was changed here is named, and what was created
 * here keeps what it belongs to.
 * @param path of the issues or releases at the source
 */
export const withdrawContents = async (
  migration: Migration,
  { roots, comments, attachments }: RepositoryContents,
  path: string,
): Promise<void> => {
  const isGone = (base: string) => (id: string) => isDeleted(migration, `${base}/${id}`)
  await new Copies(migration, attachments.things).withdraw(attachments.seen)
  await new Copies(migration, comments.things).withdraw(comments.seen, isGone(`${path}/comments`))
  await new Copies(migration, roots.things).withdraw(roots.seen, isGone(path))
}

/** The name of an attachment in the report, with what it belongs to. */
const fileLabel = (name: string, label: string): string => `${name} (${label})`

const giveContent = async (
  migration: Migration,
  { things, seen }: Contents,
  item: Item,
): Promise<number | undefined> => {
  seen.push({ name: item.name })
  return (await new Copies(migration, things).giveOne(item))?.id
}

/** An issue, a comment or a release of the source, with its attachments. */
interface Written extends Pick<Item, 'name' | 'label'> {
  readonly kind: RootKind | 'comment'
  readonly author: Author
  readonly values: Values
  readonly assets: readonly SourceAttachment[]
}

/**
 * Gives a content, and then its attachments.
 * @param save saves the record of the content, in the place of a copy that has the id
 * @returns the id of the copy; undefined when the report says why there is none
 */
export const giveWritten = async (
  migration: Migration,
  contents: RepositoryContents,
  { kind, author, values, assets, ...item }: Written,
  save: (origin: Origin, id?: number) => Promise<boolean>,
): Promise<number | undefined> => {
  const id = await giveContent(migration, kind === 'comment' ? contents.comments : contents.roots, {
    ...item,
    // An author who does not exist here is the same ghost in each run.
    values: pick({ ...values, author: author.name } as Values, MEMBERS[kind]),
    create: (origin) => save(origin),
    edit: (copy, _, origin) => save(origin, copy.id),
  })
  // The API does not name the uploader of a file.
  const target = { on: kind, targetId: id!, uploader: author.id }
  if (id !== undefined)
    for (const asset of assets) await giveAttachment(migration, contents, target, item.label, asset)
  return id
}

/** @param label what it is attached to */
const giveAttachment = async (
  migration: Migration,
  { attachments }: RepositoryContents,
  target: Pick<Attachment, 'on' | 'targetId' | 'uploader'>,
  label: string,
  { uuid, type, name, size, download_count: downloads, created_at: createdAt }: SourceAttachment,
): Promise<void> => {
  const { source, content, report, startedAt } = migration
  const full = fileLabel(name, label)
  if (uuid === '' || type === 'external') return report.note('notCopied', LINKS, full)
  await giveContent(migration, attachments, {
    name: uuid,
    label: full,
    values: { name },
    kept: { size, createdAt },
    async create(origin) {
      if (await content.isFull(target.on, target.targetId)) {
        report.note('notCopied', BEYOND_LIMIT, full)
        return false
      }
      const times = { downloads, createdAt: createdAt ?? startedAt }
      return source.download(apiPath('attachments', uuid), (file) =>
        content.addAttachment({ ...target, name, size, ...times }, file, origin),
      )
    },
    edit: ({ id }, _, origin) => content.renameAttachment(id!, name, origin),
  })
}
