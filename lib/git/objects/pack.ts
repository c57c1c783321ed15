import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { compare } from '../../compare.ts'
import { FLUSH, pktLine } from '../pkt-lines.ts'
import type { RefUpdate } from '../push.ts'
import { MODES, type PersonAtTime, type TreeEntry } from './parse.ts'

/** An object that a push brings. */
export interface NewObject {
  readonly type: keyof typeof TYPES
  readonly id: string
  readonly content: Buffer
}

/** Numbers of types in packs (gitformat-pack). */
const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4 }

export const newObject = (type: NewObject['type'], content: Buffer): NewObject => {
  const id = createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex')
  return { type, id, content }
}

/** @param entries in any order */
export const newTree = (entries: readonly TreeEntry[]): NewObject => {
  const named = entries.map((entry) => ({ ...entry, name: Buffer.from(entry.name).toString('latin1') }))
  return newObject('tree', Buffer.concat([...treeSlices(named)]))
}

/**
 * Makes a tree that may have half a million entries: other requests are served meanwhile.
 * @param entries in any order, with a character for each byte of a name
 */
export const newLargeTree = async (entries: Iterable<TreeEntry>): Promise<NewObject> => {
  const slices: Buffer[] = []
  for (const slice of treeSlices(entries)) {
    if (slices.length > 0) await setImmediate()
    slices.push(slice)
  }
  return newObject('tree', Buffer.concat(slices))
}

/** Entries that are written within a few milliseconds. */
const SLICE = 5000

/** Entries in git's order: folders are sorted as if their names ended with a slash. */
function* treeSlices(entries: Iterable<TreeEntry>): Generator<Buffer> {
  const keyOf = ({ mode, name }: TreeEntry) => (mode === MODES.tree ? `${name}/` : name)
  // Fast where nearly all are in order already, as they were read.
  const sorted = [...entries].sort((left, right) => compare(keyOf(left), keyOf(right)))
  for (let start = 0; start < sorted.length; start += SLICE) {
    const texts = sorted
      .slice(start, start + SLICE)
      .map(
        ({ mode, name, id }) =>
          `${mode.replace(/^0/, '')} ${name}\0${Buffer.from(id, 'hex').toString('latin1')}`,
      )
    yield Buffer.from(texts.join(''), 'latin1')
  }
}

interface NewCommit {
  readonly tree: string
  readonly parents: readonly string[]
  readonly author: PersonAtTime
  readonly committer: PersonAtTime
  readonly message: string
}

export const newCommit = ({ tree, parents, author, committer, message }: NewCommit): NewObject =>
  textObject('commit', message, [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${personText(author)}`,
    `committer ${personText(committer)}`,
  ])

interface NewTag {
  readonly name: string
  readonly commit: string
  readonly tagger: PersonAtTime
  readonly message: string
}

export const newTag = ({ name, commit, tagger, message }: NewTag): NewObject =>
  textObject('tag', message, [
    `object ${commit}`,
    'type commit',
    `tag ${name}`,
    `tagger ${personText(tagger)}`,
  ])

const textObject = (type: 'commit' | 'tag', message: string, headers: readonly string[]): NewObject =>
  newObject(type, Buffer.from(`${headers.join('\n')}\n\n${message.trimEnd()}\n`))

/** A person and a time, as commits and tags name them. */
const personText = ({ name, email, time, offset }: PersonAtTime): string => {
  const minutes = Math.abs(offset)
  const two = (number: number) => String(number).padStart(2, '0')
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${two(minutes % 60)}`
  return `${cleanText(name) || 'Unknown'} <${cleanText(email)}> ${time} ${zone}`
}

/** Removes the characters that would end a name or its line, as git's own commands do. */
const cleanText = (text: string): string =>
  text
    .replace(/[\p{Cc}<>]/gu, ' ')
    .replace(/ +/g, ' ')
    .trim()

const NONE = '0'.repeat(40)

/** The capabilities of a push: a report over the side band, and all changes or none. */
const CAPABILITIES = 'report-status side-band-64k atomic object-format=sha1'

/** The request body of a push, as git's own client sends it (gitprotocol-pack). */
export const pushBody = async (
  updates: readonly RefUpdate[],
  objects: readonly NewObject[],
): Promise<Buffer> => {
  const lines = updates.map(({ ref, before, after }, index) =>
    pktLine(`${before ?? NONE} ${after ?? NONE} ${ref}${index === 0 ? `\0${CAPABILITIES}` : ''}`),
  )
  // A push that only deletes references has no pack.
  const pack = updates.some(({ after }) => after !== null) ? [await packOf(objects)] : []
  return Buffer.concat([...lines, FLUSH, ...pack])
}

const compress = promisify(deflate)

const packOf = async (objects: readonly NewObject[]): Promise<Buffer> => {
  const header = Buffer.alloc(12)
  header.write('PACK')
  header.writeUInt32BE(2, 4)
  header.writeUInt32BE(objects.length, 8)
  const parts: Buffer[] = [header]
  for (const { type, content } of objects) {
    parts.push(entryHeader(TYPES[type], content.length), (await compress(content)) as Buffer)
  }
  const pack = Buffer.concat(parts)
  return Buffer.concat([pack, createHash('sha1').update(pack).digest()])
}

/** Type and size: four bits of the size in the first byte, seven in each further one. */
const entryHeader = (type: number, size: number): Buffer => {
  const bytes = [(type << 4) | (size % 16)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1]! |= 0x80
    bytes.push(rest % 128)
  }
  return Buffer.from(bytes)
}
