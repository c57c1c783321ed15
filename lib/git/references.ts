/**
 * References, read from their files: a process takes some milliseconds, and most repositories have few
 * references.
 */
import type { Dirent } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { ifMissing } from '../disk.ts'
import { FLUSH, pktLine } from './pkt-lines.ts'

/** Loose references that are read; with more of them, git is asked instead. */
const MAX_LOOSE = 500

const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?(?![0-9a-f])/

interface References {
  /** The ids of references with files of their own. */
  readonly loose: ReadonlyMap<string, string>
  /** The ids of other references. */
  readonly packed: ReadonlyMap<string, string>
  /** Whether these are all references: false when there are too many, or when one is symbolic or damaged. */
  readonly isComplete: boolean
}

/**
 * Invariant: only the current value of a reference counts. A line of packed-refs is out of date while the
 * reference has a file of its own, and git leaves the line there until it packs the references again. The
 * files are listed before packed-refs is read: git writes packed-refs before it deletes a file, so a line
 * without a file is not older than the list.
 */
export const readReferences = async (folder: string): Promise<References> => {
  const entries = await readdir(join(folder, 'refs'), { withFileTypes: true, recursive: true }).catch(
    ifMissing<Dirent[]>([]),
  )
  // A lock file holds a value that the reference may never get.
  const all = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.lock'))
  const files = all.slice(0, MAX_LOOSE).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(files.map((file) => readFile(file, 'latin1').catch(ifMissing(undefined))))
  const isBounded = all.length <= MAX_LOOSE
  // In UTF-8, as file names are: references may have any characters.
  const text = isBounded ? await readFile(join(folder, 'packed-refs'), 'utf8').catch(ifMissing('')) : ''
  const packed = parsePackedRefs(text)
  const loose = new Map<string, string>()
  let isComplete = isBounded
  for (const [index, file] of files.entries()) {
    // git has packed or deleted it since the files were listed.
    if (texts[index] === undefined) continue
    const name = relative(folder, file).split(sep).join('/')
    const id = OBJECT_ID.exec(texts[index])?.[0]
    packed.delete(name)
    if (id === undefined) isComplete = false
    else loose.set(name, id)
  }
  return { loose, packed, isComplete }
}

/** Leaves out lines with `^`, which name the object that the tag of the line before them points to. */
const parsePackedRefs = (text: string): Map<string, string> => {
  const packed = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [id] = OBJECT_ID.exec(line) ?? []
    if (id !== undefined) packed.set(line.slice(id.length + 1), id)
  }
  return packed
}

/**
 * What git answers with the settings `RECEIVE` of transport.ts, since 2.4: another capability belongs to
 * both.
 */
const CAPABILITIES = 'report-status delete-refs side-band-64k quiet atomic ofs-delta'

const NONE = '0'.repeat(40)

/** About 1000 references, which are read and listed within 2 milliseconds. */
const MAX_PACKED_BYTES = 64 * 1024

/**
 * The start of a push, which lists all references (gitprotocol-pack, "Reference Discovery").
 * @returns undefined when git must list them: they are many, or not all can be read here
 */
export const advertisePush = async (folder: string): Promise<Buffer | undefined> => {
  const { size } = await stat(join(folder, 'packed-refs')).catch(ifMissing({ size: 0 }))
  if (size > MAX_PACKED_BYTES) return undefined
  const { loose, packed, isComplete } = await readReferences(folder)
  const references = [...loose, ...packed]
  // A name that is not UTF-8.
  if (!isComplete || references.some(([name]) => name.includes('\uFFFD'))) return undefined
  if (references.length === 0) references.push(['capabilities^{}', NONE])
  // git lists them by the bytes of their names.
  const sorted = references
    .map(([name, id]) => ({ id, name: Buffer.from(name) }))
    .sort((left, right) => left.name.compare(right.name))
  const lines = sorted.map(({ id, name }, index) => [
    Buffer.from(`${id} `),
    name,
    Buffer.from(index === 0 ? `\0${CAPABILITIES}\n` : '\n'),
  ])
  return Buffer.concat([...lines.map((line) => pktLine(Buffer.concat(line))), FLUSH])
}
