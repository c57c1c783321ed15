import type { ObjectInfo } from '../../git/objects/batch-process.ts'
import { CUT, type EntryPosition, entryAt, slicesOf, typeOfMode } from '../../git/objects/parse.ts'
import { successOf } from '../../git/processes.ts'
import { beginningOf, pathText } from '../../git/text.ts'
import type { Slice } from '../../records/pages.ts'
import { expressionsOf, findObject, type OpenRepository } from './open-repository.ts'

/** An entry of a tree, or of a tree below it, with its whole path. */
interface TreeItem {
  readonly path: string
  readonly mode: string
  readonly type: 'tree' | 'commit' | 'blob'
  readonly id: string
  /** Bytes; 0 for everything but files. */
  readonly size: number
}

interface TreePage {
  /** Id of the tree. */
  readonly id: string
  readonly items: readonly TreeItem[]
  /** Entries on all pages. */
  readonly total: number
}

/**
 * @param name of a branch or a tag, or the full id of a commit or a tree
 * @returns undefined when there is no such tree
 */
export const findTree = async (open: OpenRepository, name: string): Promise<ObjectInfo | undefined> => {
  for (const expression of expressionsOf(name === '' ? open.repository.defaultBranch : name)) {
    const tree = await findObject(open, expression, '^{tree}')
    if (tree !== undefined) return tree
  }
  return undefined
}

/**
 * @param name as of {@link findTree}
 * @returns undefined when there is no such tree
 */
export const readTree = async (
  open: OpenRepository,
  name: string,
  { isRecursive, offset, limit }: Slice & { isRecursive: boolean },
): Promise<TreePage | undefined> => {
  const { git, access } = open
  const tree = await findTree(open, name)
  if (tree === undefined) return undefined
  const read = isRecursive ? readRecursively : readFlat
  const { entries, total } = await read(open, tree.id, { offset, limit })
  const infos = await git.infos(
    access,
    entries.map(({ id }) => id),
  )
  const items = entries.map(({ mode, path, id }, index) => {
    const info = infos[index]
    return { path, mode, id, type: typeOfMode(mode), size: info?.type === 'blob' ? info.size : 0 }
  })
  return { id: tree.id, items, total }
}

interface Entries {
  readonly entries: readonly { readonly mode: string; readonly path: string; readonly id: string }[]
  readonly total: number
}

const readFlat = async (
  { git, access }: OpenRepository,
  id: string,
  { offset, limit }: Slice,
): Promise<Entries> => {
  const content = (await git.object(access, id))?.content ?? Buffer.alloc(0)
  const shown: EntryPosition[] = []
  let total = 0
  for await (const slice of slicesOf(content)) {
    shown.push(...slice.slice(Math.max(offset - total, 0), Math.max(offset + limit - total, 0)))
    total += slice.length
  }
  const entries = shown.map((position) => {
    const { name, ...entry } = entryAt(content, position)
    return { ...entry, path: name }
  })
  return { entries, total }
}

/** Counts all entries, and keeps those of the page. */
const readRecursively = async (
  { git, access }: OpenRepository,
  id: string,
  { offset, limit }: Slice,
): Promise<Entries> => {
  const child = await git.start(access, 'ls-tree', ['-r', '-t', '-z', '--full-tree', id])
  child.stdin.end()
  const entries: { mode: string; path: string; id: string }[] = []
  let total = 0
  try {
    for await (const line of recordsOf(child.stdout)) {
      if (total >= offset && total < offset + limit) entries.push(entryOf(line))
      total++
    }
    await successOf(child)
  } finally {
    child.stop()
  }
  return { entries, total }
}

/** Bytes of a record: a path of 4096 bytes, and what git writes before it. */
const MAX_RECORD = 4096 + 200

/**
 * Records that end with a NUL, with paths as {@link pathText}. Of one that is too long, only the beginning is
 * read.
 */
export async function* recordsOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  // A character for each byte.
  let rest = ''
  for await (const chunk of stream) {
    const records = (rest + chunk.toString('latin1')).split('\0')
    rest = records.pop()!.slice(0, MAX_RECORD + 1)
    for (const record of records)
      yield isAscii(record) && record.length <= MAX_RECORD ? record : shown(record)
  }
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text)

const shown = (record: string): string => {
  const bytes = Buffer.from(record, 'latin1')
  return bytes.length <= MAX_RECORD ? pathText(bytes) : pathText(beginningOf(bytes, MAX_RECORD)) + CUT
}

/** `mode type id<TAB>path` */
const entryOf = (line: string) => {
  const tab = line.indexOf('\t')
  const [mode, , id] = line.slice(0, tab).split(' ') as [string, string, string]
  return { mode, id, path: line.slice(tab + 1) }
}
