import { setImmediate } from 'node:timers/promises'
import { beginningOf, decodeText, pathBytes, pathText } from '../text.ts'

/** A full id. Abbreviations are not taken: with 65,536 of them, anyone could find all unreachable objects. */
export const OBJECT_ID = /^[0-9a-f]{40}$/

/** Person and time of a commit or a tag. */
export interface PersonAtTime {
  readonly name: string
  readonly email: string
  /** Seconds since 1970. */
  readonly time: number
  /** Minutes that the zone of the time is ahead of UTC. */
  readonly offset: number
}

/** An armored signature, and the text that it signs. */
export interface Signature {
  readonly text: string
  readonly payload: string
}

export interface Commit {
  readonly id: string
  readonly tree: string
  readonly parents: readonly string[]
  readonly author: PersonAtTime
  readonly committer: PersonAtTime
  readonly message: string
  /** Undefined when the commit is not signed. */
  readonly signature: Signature | undefined
}

/** An annotated tag. */
export interface Tag {
  readonly id: string
  readonly name: string
  /** The object that the tag points to. */
  readonly object: { readonly id: string; readonly type: string }
  /** Absent from the oldest tags. */
  readonly tagger: PersonAtTime | undefined
  /** Without the signature. */
  readonly message: string
  /** Undefined when the tag is not signed. */
  readonly signature: Signature | undefined
}

/** One entry of a folder. */
export interface TreeEntry {
  /** Mode with six digits, such as `100644`. */
  readonly mode: string
  readonly name: string
  readonly id: string
}

/** Modes of entries, in octal as git writes them. */
export const MODES = {
  tree: '040000',
  symlink: '120000',
  submodule: '160000',
  file: '100644',
  executable: '100755',
}

export const typeOfMode = (mode: string): 'tree' | 'commit' | 'blob' => {
  if (mode === MODES.tree) return 'tree'
  return mode === MODES.submodule ? 'commit' : 'blob'
}

/** The content of a commit or a tag, or its beginning. */
interface ParsedText {
  readonly id: string
  readonly content: Buffer
  readonly isCut: boolean
}

/** A header of a commit or a tag, and its further lines, which begin with a space. */
type Header = [name: string, value: string]

/** Lines of headers that are read. A push refuses more; the largest real merges have a few hundred. */
export const MAX_HEADER_LINES = 1000

/** Ends a text of which only the beginning is shown. */
export const CUT = ' […]'

/** @param isCut whether the text is only the beginning, whose last line may be incomplete */
const headersOf = (text: string, isCut: boolean): { headers: Header[]; message: string } => {
  const blank = text.indexOf('\n\n') + 1
  const end = blank || (isCut ? text.lastIndexOf('\n') + 1 : text.length)
  const headers: Header[] = []
  for (let start = 0, count = 0; start < end && count < MAX_HEADER_LINES; count++) {
    const feed = text.indexOf('\n', start)
    const line = text.slice(start, feed < 0 ? end : feed)
    start += line.length + 1
    const last = headers.at(-1)
    const space = line.indexOf(' ')
    if (space === 0 && last !== undefined) last[1] += `\n${line.slice(1)}`
    else headers.push([line.slice(0, space), line.slice(space + 1)])
  }
  const message = blank === 0 ? '' : text.slice(blank + 1)
  return { headers, message: isCut ? message + CUT : message }
}

const headerIn = (headers: readonly Header[], wanted: string): string | undefined =>
  headers.find(([name]) => name === wanted)?.[1]

/** @param text of which the message ends with {@link CUT} when it is cut */
export const parseCommit = ({ id, content, isCut }: ParsedText): Commit => {
  const text = decode(content, isCut)
  const { headers, message } = headersOf(text, isCut)
  const signature = headerIn(headers, 'gpgsig')
  return {
    id,
    tree: headerIn(headers, 'tree') ?? '',
    parents: headers.filter(([name]) => name === 'parent').map(([, value]) => value),
    author: parsePerson(headerIn(headers, 'author') ?? ''),
    committer: parsePerson(headerIn(headers, 'committer') ?? ''),
    message,
    signature: signature === undefined ? undefined : { text: signature, payload: payloadOf(text) },
  }
}

/** The signed text: the commit without its signature, of which {@link MAX_HEADER_LINES} are read. */
const payloadOf = (text: string): string => {
  const start = text.indexOf('\ngpgsig ')
  let end = text.indexOf('\n', start + 1)
  for (let count = 1; text[end + 1] === ' ' && end > 0 && count < MAX_HEADER_LINES; count++)
    end = text.indexOf('\n', end + 1)
  return text.slice(0, start) + (end < 0 ? '' : text.slice(end))
}

/** Begins the line, whatever follows on it, with which git begins the signature at the end of a tag. */
const TAG_SIGNATURE = /(?<=\n)-----BEGIN (?:PGP SIGNATURE|PGP MESSAGE|SSH SIGNATURE|SIGNED MESSAGE)-----/g

/** @param text of which the message, or the signature, ends with {@link CUT} when it is cut */
export const parseTag = ({ id, content, isCut }: ParsedText): Tag => {
  const text = decode(content, isCut)
  const start = [...text.matchAll(TAG_SIGNATURE)].at(-1)?.index
  const payload = text.slice(0, start)
  const { headers, message } = headersOf(payload, isCut && start === undefined)
  const tagger = headerIn(headers, 'tagger')
  return {
    id,
    name: headerIn(headers, 'tag') ?? '',
    object: { id: headerIn(headers, 'object') ?? '', type: headerIn(headers, 'type') ?? '' },
    tagger: tagger === undefined ? undefined : parsePerson(tagger),
    message,
    signature: start === undefined ? undefined : { text: text.slice(start) + (isCut ? CUT : ''), payload },
  }
}

/** Damaged lines of authors, committers and taggers in old histories keep what can be read of them. */
const parsePerson = (text: string): PersonAtTime => {
  const open = text.indexOf('<')
  const close = open < 0 ? -1 : text.indexOf('>', open)
  if (close < 0) return { name: text, email: '', time: 0, offset: 0 }
  const name = text.slice(0, text[open - 1] === ' ' ? open - 1 : open)
  const [email, rest] = [text.slice(open + 1, close), text.slice(close + 1)]
  const [, seconds = '0', sign = '+', hours = '0', minutes = '0'] =
    /^ ?(\d{1,12})(?: ([-+])(\d\d)(\d\d))?/.exec(rest) ?? []
  const offset = Number(hours) * 60 + Number(minutes)
  return { name, email, time: Number(seconds), offset: sign === '-' ? -offset : offset }
}

const decode = (content: Buffer, isCut: boolean): string =>
  decodeText(content, { isCut, encoding: () => encodingIn(content.toString('latin1')) })

/** The header that names the encoding of a commit or a tag, when it is not UTF-8. */
const encodingIn = (text: string): string | undefined =>
  /^encoding (.+)$/m.exec(text.split('\n\n', 1)[0]!)?.[1]

/** Bytes of an object id in a tree. */
const ID_BYTES = 20
const [SPACE, NUL] = [32, 0]
const [ZERO, FOUR] = Buffer.from('04')

export interface EntryPosition {
  readonly start: number
  readonly space: number
  readonly nul: number
}

/**
 * The positions of the parts of an entry. Reads byte by byte: folders may have 100,000 entries, and a call of
 * `indexOf` for each takes ten times as long. For a longer name than a push may bring, `indexOf` is faster.
 * @returns undefined when there is no whole entry
 */
const positionAt = (tree: Buffer, start: number): EntryPosition | undefined => {
  const { length } = tree
  // Modes have six digits, those of folders five.
  let space = start + 5
  while (space < length && tree[space] !== SPACE) space++
  let nul = space + 1
  const end = Math.min(nul + MAX_NAME, length)
  while (nul < end && tree[nul] !== NUL) nul++
  if (tree[nul] !== NUL) nul = tree.indexOf(NUL, nul)
  return nul < 0 ? undefined : { start, space, nul }
}

/** The positions of all entries of a small folder. */
export function* positionsIn(tree: Buffer): Generator<EntryPosition> {
  for (let position = positionAt(tree, 0); position !== undefined; ) {
    yield position
    position = positionAt(tree, position.nul + 1 + ID_BYTES)
  }
}

/** Bytes that are read in a millisecond. */
const SLICE = 256 * 1024

/**
 * The positions of all entries, in slices between which other requests are served: 16 MiB can have half a
 * million. A list of a large folder parses only those that it shows.
 */
export async function* slicesOf(tree: Buffer): AsyncGenerator<EntryPosition[]> {
  let slice: EntryPosition[] = []
  let end = SLICE
  for (const position of positionsIn(tree)) {
    slice.push(position)
    if (position.nul < end) continue
    yield slice
    await setImmediate()
    slice = []
    end = position.nul + SLICE
  }
  yield slice
}

/** Whether an entry is a folder, of mode 40000 or 040000. */
export const isFolderAt = (tree: Buffer, { start, space }: EntryPosition): boolean =>
  tree[space - 5] === FOUR && (space - start === 5 || tree[space - 6] === ZERO)

/** Bytes of a name. A push refuses longer ones, which no common file system can have. */
export const MAX_NAME = 255

const shownName = (bytes: Buffer): string =>
  bytes.length <= MAX_NAME ? pathText(bytes) : pathText(beginningOf(bytes, MAX_NAME)) + CUT

export const entryAt = (
  tree: Buffer,
  { start, space, nul }: EntryPosition,
  encoding: NameEncoding = 'utf8',
): TreeEntry => ({
  mode: tree.toString('latin1', start, space).padStart(6, '0'),
  name:
    encoding === 'latin1'
      ? tree.toString('latin1', space + 1, nul)
      : shownName(tree.subarray(space + 1, nul)),
  id: tree.toString('hex', nul + 1, nul + 1 + ID_BYTES),
})

/**
 * How names are read: `utf8` to be shown, as {@link pathText}, where the longest are cut; `latin1` with a
 * character for each byte, whole.
 */
export type NameEncoding = 'utf8' | 'latin1'

/** One entry of a folder, without parsing the others. */
export const findInTree = async (tree: Buffer, name: string): Promise<TreeEntry | undefined> => {
  const wanted = pathBytes(name)
  for await (const slice of slicesOf(tree)) {
    const found = slice.find(({ space, nul }) => wanted.equals(tree.subarray(space + 1, nul)))
    if (found !== undefined) return entryAt(tree, found)
  }
  return undefined
}
