import type { Dirent } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { AllotError } from '../errors.ts'
import { absentAs } from './disk.ts'
import { createPktLines, pktLine } from './pkt-lines.ts'
import { feed, type GitProcess, startProcess, type Timeouts } from './process.ts'
import { configured, ENVIRONMENT } from './run.ts'

/** @returns one of the objects that no reference leads to; undefined when all are reachable or do not exist */
export type FindUnreachable = (wants: ReadonlySet<string>) => Promise<string | undefined>

/** A fetch request on its way to git. */
interface CheckedRequest {
  readonly body: Readable
  /** Settles before git may answer: the object that the request must not have, undefined when there is none. */
  readonly refused: Promise<string | undefined>
}

/** Version 0 has capabilities after the name, and git takes capital digits too. */
const WANT = /^want ([0-9a-f]{40}(?:[0-9a-f]{24})?)(?![0-9a-f])/i

/**
 * Passes a fetch request on to git-upload-pack, and holds back each packet that ends a section until the objects wanted so
 * far are known to be reachable. Invariant: git acts on a `want` only after such a packet, in every version of the
 * protocol, so it never packs what no branch or tag leads to. git's own configuration cannot hold this: in version 2 it
 * gives out every object that it has (gitprotocol-v2, "wants can be anything").
 */
const checkWants = (request: Readable, find: FindUnreachable): CheckedRequest => {
  let settle: (refused: string | undefined) => void = () => undefined
  let fail: (error: unknown) => void = () => undefined
  const refused = new Promise<string | undefined>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  // Whoever reads the body hears of a failure, too.
  refused.catch(() => undefined)

  async function* checked(): AsyncGenerator<Buffer> {
    const lines = createPktLines({ marks: true })
    const wants = new Set<string>()
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const passed: Buffer[] = []
      for (const { bytes, payload } of lines.add(chunk as Buffer)) {
        const want = payload && wantIn(payload)
        if (want !== undefined) wants.add(want)
        if (wants.size > MAX_WANTS)
          throw new AllotError('too_large', 'a fetch must not ask for so many objects at once')
        if (payload === undefined && wants.size > 0) {
          const unreachable = await find(wants)
          wants.clear()
          if (unreachable !== undefined) {
            request.resume()
            return settle(unreachable)
          }
        }
        if (bytes.toString('latin1') === '0000') settle(undefined)
        passed.push(bytes)
      }
      if (passed.length > 0) yield Buffer.concat(passed)
    }
  }

  const guarded = async function* () {
    try {
      yield* checked()
      settle(undefined)
    } catch (error) {
      request.resume()
      fail(error)
      throw error
    }
  }
  return { body: Readable.from(guarded(), { objectMode: false }), refused }
}

/** Of one request; a partial clone asks for all files of a checkout at once. */
const MAX_WANTS = 250_000

const wantIn = (payload: Buffer): string | undefined => {
  const [, name] = WANT.exec(payload.toString('latin1', 0, 80)) ?? []
  return name?.toLowerCase()
}

/**
 * Gives a fetch request to git, as far as {@link checkWants} lets it through.
 * @returns the answer in place of git's, which is stopped; undefined when git answers
 * @throws AllotError bad_request, too_large, unavailable
 */
export const feedChecked = async (
  request: Readable,
  session: GitProcess,
  find: FindUnreachable,
): Promise<Buffer | undefined> => {
  const { body, refused } = checkWants(request, find)
  feed(body, session)
  try {
    const name = await Promise.race([refused, session.ended.then(() => undefined)])
    if (name === undefined) return undefined
    session.stop()
    // The words that git itself has for an object that does not exist.
    return pktLine(`ERR upload-pack: not our ref ${name}`)
  } catch (error) {
    session.stop()
    throw error
  }
}

/** Bytes of a request that may be held in memory: those of most fetches. */
const HELD = 64 * 1024

/**
 * Waits until a body has come whole, or more of it than is held in memory. Invariant: a client that sends headers and no
 * body takes nothing that others wait for.
 * @returns the same bytes; the rest of a larger body is still to come
 */
export const arrived = async (body: Readable): Promise<Readable> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size <= HELD) continue
    body.unshift(Buffer.concat(chunks))
    return body
  }
  return Readable.from(chunks)
}

export interface ReachableOptions {
  git: string
  folder: string
  timeouts: Timeouts
  /** Bytes of memory for each process. */
  memory: number | undefined
  /** Aborted when the client goes away. */
  signal: AbortSignal
}

/**
 * Looks which of the wanted objects the references lead to. A clone wants tips and costs no process; another commit costs a
 * walk of commits. Trees, blobs and tags, which partial clones want one by one, cost a walk of objects until the last of
 * them is found: first those of the tips, then all. `git gc` leaves a bitmap that makes it short.
 */
export const unreachableIn =
  (options: ReachableOptions): FindUnreachable =>
  async (wants) => {
    const left = without(wants, await tipsOf(options.folder))
    if (left.size === 0) return undefined
    const { commits, others } = await typesOf(options, left)
    if (commits.size > 0) {
      const words = ['rev-list', '--max-count=1', '--stdin', '--not', '--all']
      for await (const name of linesOf(options, words, [...commits]))
        return commits.has(name) ? name : [...commits][0]
    }
    for (const words of [['--no-walk'], ['--use-bitmap-index']]) {
      if (others.size === 0) return undefined
      for await (const name of linesOf(options, [...OBJECTS, ...words, '--all'], [])) {
        others.delete(name)
        if (others.size === 0) return undefined
      }
    }
    return [...others][0]
  }

const OBJECTS = ['rev-list', '--objects', '--no-object-names']

const without = (names: ReadonlySet<string>, known: ReadonlySet<string>): Set<string> =>
  new Set([...names].filter((name) => !known.has(name)))

/** git refuses by itself what does not exist. */
const typesOf = async (options: ReachableOptions, names: ReadonlySet<string>) => {
  const [commits, others] = [new Set<string>(), new Set<string>()]
  const words = ['cat-file', '--batch-check=%(objectname) %(objecttype)']
  for await (const line of linesOf(options, words, [...names])) {
    const [name, type] = line.split(' ')
    if (type === 'commit') commits.add(name!)
    else if (type !== 'missing') others.add(name!)
  }
  return { commits, others }
}

/** The lines that a git command writes; it is stopped when no more of them are read. */
async function* linesOf(
  { git, folder, timeouts, memory, signal }: ReachableOptions,
  words: readonly string[],
  input: readonly string[],
): AsyncGenerator<string> {
  const args = [...configured(), `--git-dir=${folder}`, ...words]
  const session = await startProcess(args, { git, env: ENVIRONMENT, timeouts, memory, isDetached: false })
  const stop = () => session.stop()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  session.stdin.end(input.map((line) => `${line}\n`).join(''))
  try {
    yield* createInterface({ input: session.stdout, crlfDelay: Number.POSITIVE_INFINITY })
    if ((await session.ended).code !== 0)
      throw new AllotError('unavailable', 'the objects asked for could not be looked up: try again')
  } finally {
    signal.removeEventListener('abort', stop)
    session.stop()
  }
}

/** With more references in files of their own, git decides. */
const MAX_LOOSE = 500

/**
 * Objects that references name, as far as a look at their files tells: all that an ordinary clone or fetch wants.
 * Invariant: only the present value of a reference counts. A line of packed-refs is void while the reference has a file of
 * its own, and git leaves the line there until it packs the references again. The files are listed before packed-refs is
 * read: git writes packed-refs before it deletes a file, so a line without a file is not older than the list.
 */
const tipsOf = async (folder: string): Promise<ReadonlySet<string>> => {
  const refs = join(folder, 'refs')
  const entries = await readdir(refs, { withFileTypes: true, recursive: true }).catch(absentAs<Dirent[]>([]))
  // A lock holds a value that may never become that of the reference.
  const loose = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.lock'))
  const files = loose.slice(0, MAX_LOOSE).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(files.map((file) => readFile(file, 'latin1').catch(absentAs(''))))
  const tips = new Set(texts.flatMap((text) => text.match(NAME) ?? []))
  if (loose.length > MAX_LOOSE) return tips
  const overridden = new Set(files.map((file) => relative(folder, file).split(sep).join('/')))
  // As names of files are read: a name of a branch may hold any characters.
  const packed = await readFile(join(folder, 'packed-refs'), 'utf8').catch(absentAs(''))
  for (const [ref, names] of packedIn(packed))
    if (!overridden.has(ref)) for (const name of names) tips.add(name)
  return tips
}

/** At the beginning of a text. */
const NAME = /^[0-9a-f]{40}(?:[0-9a-f]{24})?(?![0-9a-f])/

/** What each reference in packed-refs leads to: its object, and from the line below it, with `^`, what a tag leads to. */
const packedIn = (text: string): Map<string, string[]> => {
  const packed = new Map<string, string[]>()
  let last: string[] = []
  for (const line of text.split('\n')) {
    const [name] = NAME.exec(line.replace('^', '')) ?? []
    if (name === undefined) continue
    if (line.startsWith('^')) last.push(name)
    else {
      last = [name]
      packed.set(line.slice(name.length + 1), last)
    }
  }
  return packed
}
