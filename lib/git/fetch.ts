/**
 * A fetch may only ask for objects that a reference reaches. git's own configuration cannot enforce that: in version 2 of
 * the protocol git-upload-pack sends every object that it has (gitprotocol-v2, "wants can be anything"). So each `want` of a
 * request is checked before git reads the packet that makes it act.
 */
import type { Dirent } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { ifMissing } from '../disk.ts'
import { AllotError } from '../errors.ts'
import { createPktLineParser, type PktLine, pktLine } from './pkt-lines.ts'
import {
  configuration,
  ENVIRONMENT,
  feed,
  type GitProcess,
  type ProcessLimits,
  startProcess,
} from './process.ts'

/** The size of most fetch requests. */
const MAX_BUFFERED = 64 * 1024

/**
 * Reads a body to its end, or until the buffer is full. Invariant: a client that sends headers and no body occupies no
 * process that others wait for.
 * @returns a stream of the whole body
 */
export const bufferStart = async (body: Readable): Promise<Readable> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size <= MAX_BUFFERED) continue
    body.unshift(Buffer.concat(chunks))
    return body
  }
  return Readable.from(chunks)
}

/** @returns an object that no reference reaches; undefined when all are reachable or do not exist */
type FindUnreachable = (wants: ReadonlySet<string>) => Promise<string | undefined>

/**
 * Pipes a fetch request to git, and stops git when the request asks for an unreachable object.
 * @returns the response in place of git's; undefined when git responds
 * @throws AllotError bad_request, too_large, unavailable
 */
export const feedChecked = async (
  request: Readable,
  child: GitProcess,
  findUnreachable: FindUnreachable,
): Promise<Buffer | undefined> => {
  const { body, refused } = checkWants(request, findUnreachable)
  feed(body, child)
  try {
    const id = await Promise.race([refused, child.ended.then(() => undefined)])
    if (id === undefined) return undefined
    child.stop()
    // git's own message for an object that does not exist.
    return pktLine(`ERR upload-pack: not our ref ${id}`)
  } catch (error) {
    child.stop()
    throw error
  }
}

interface CheckedRequest {
  /** The part of the request that git may read. */
  readonly body: Readable
  /** The unreachable object; undefined once git may respond. Settles before git can respond. */
  readonly refused: Promise<string | undefined>
}

/**
 * Holds back each packet that ends a section until the wants so far are checked. Invariant: in every version of the
 * protocol git acts on a want only after such a packet.
 */
const checkWants = (request: Readable, findUnreachable: FindUnreachable): CheckedRequest => {
  let settle: (refused: string | undefined) => void = () => undefined
  let fail: (error: unknown) => void = () => undefined
  const refused = new Promise<string | undefined>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  // The body fails with the same error.
  refused.catch(() => undefined)

  async function* guarded(): AsyncGenerator<Buffer> {
    try {
      yield* checkedPackets(request, createWantCheck(findUnreachable), settle)
      settle(undefined)
    } catch (error) {
      request.resume()
      fail(error)
      throw error
    }
  }
  return { body: Readable.from(guarded(), { objectMode: false }), refused }
}

/** The packets that git may read. Ends at the first want of an unreachable object. */
async function* checkedPackets(
  request: Readable,
  check: CheckPacket,
  settle: (refused: string | undefined) => void,
): AsyncGenerator<Buffer> {
  const parser = createPktLineParser({ hasDelimiters: true })
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const passed: Buffer[] = []
    for (const line of parser.add(chunk as Buffer)) {
      const unreachable = await check(line)
      if (unreachable !== undefined) {
        request.resume()
        return settle(unreachable)
      }
      if (line.bytes.toString('latin1') === '0000') settle(undefined)
      passed.push(line.bytes)
    }
    if (passed.length > 0) yield Buffer.concat(passed)
  }
}

/** For one request. A partial clone asks for all files of a checkout at once. */
const MAX_WANTS = 250_000

/** Version 0 appends capabilities to the id. git also takes upper-case digits. */
const WANT = /^want ([0-9a-f]{40}(?:[0-9a-f]{24})?)(?![0-9a-f])/i

/** @returns an unreachable object, when the packet ends a section that asks for one */
type CheckPacket = (line: PktLine) => Promise<string | undefined>

/** Collects the wants of a section, and checks them at its end. */
const createWantCheck = (findUnreachable: FindUnreachable): CheckPacket => {
  const wants = new Set<string>()
  return async ({ payload }) => {
    const [, id] = WANT.exec(payload?.toString('latin1', 0, 80) ?? '') ?? []
    if (id !== undefined) wants.add(id.toLowerCase())
    if (wants.size > MAX_WANTS)
      throw new AllotError('too_large', `a fetch must not ask for more than ${MAX_WANTS} objects at once`)
    if (payload !== undefined || wants.size === 0) return undefined
    const unreachable = await findUnreachable(wants)
    wants.clear()
    return unreachable
  }
}

interface ReachabilityOptions {
  readonly git: string
  readonly folder: string
  readonly limits: ProcessLimits
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/**
 * Checks wants as cheaply as possible. A clone wants tips: no process. Another commit: one walk of commits. Trees, blobs
 * and tags, which partial clones want one by one: a walk of objects that ends with the last of them, first over the tips,
 * then over everything. The bitmap that `git gc` writes makes that walk short.
 */
export const createReachability =
  (options: ReachabilityOptions): FindUnreachable =>
  async (wants) => {
    const tips = await readTips(options.folder)
    const unknown = [...wants].filter((id) => !tips.has(id))
    if (unknown.length === 0) return undefined
    const { commits, others } = await typesOf(options, unknown)
    return (await findUnreachableCommit(options, commits)) ?? (await findUnreachableObject(options, others))
  }

const findUnreachableCommit = async (
  options: ReachabilityOptions,
  commits: ReadonlySet<string>,
): Promise<string | undefined> => {
  if (commits.size === 0) return undefined
  const args = ['rev-list', '--max-count=1', '--stdin', '--not', '--all']
  for await (const id of linesOf(options, args, [...commits])) return commits.has(id) ? id : [...commits][0]
  return undefined
}

const findUnreachableObject = async (
  options: ReachabilityOptions,
  ids: ReadonlySet<string>,
): Promise<string | undefined> => {
  const unseen = new Set(ids)
  for (const walk of ['--no-walk', '--use-bitmap-index']) {
    if (unseen.size === 0) return undefined
    const args = ['rev-list', '--objects', '--no-object-names', walk, '--all']
    for await (const id of linesOf(options, args, [])) {
      unseen.delete(id)
      if (unseen.size === 0) return undefined
    }
  }
  return [...unseen][0]
}

/** Leaves out objects that do not exist: git refuses those itself. */
const typesOf = async (options: ReachabilityOptions, ids: readonly string[]) => {
  const [commits, others] = [new Set<string>(), new Set<string>()]
  const args = ['cat-file', '--batch-check=%(objectname) %(objecttype)']
  for await (const line of linesOf(options, args, ids)) {
    const [id, type] = line.split(' ')
    if (type === 'commit') commits.add(id!)
    else if (type !== 'missing') others.add(id!)
  }
  return { commits, others }
}

/** The output lines of a git command, which is stopped when the caller stops reading. */
async function* linesOf(
  { git, folder, limits, signal }: ReachabilityOptions,
  args: readonly string[],
  input: readonly string[],
): AsyncGenerator<string> {
  const options = { ...limits, git, env: ENVIRONMENT, isDetached: false }
  const child = await startProcess([...configuration(), `--git-dir=${folder}`, ...args], options)
  const stop = () => child.stop()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  child.stdin.end(input.map((line) => `${line}\n`).join(''))
  try {
    yield* createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY })
    if ((await child.ended).code !== 0)
      throw new AllotError('unavailable', 'the server could not look up the requested objects: try again')
  } finally {
    signal.removeEventListener('abort', stop)
    child.stop()
  }
}

/** With more loose references, git is asked instead. */
const MAX_LOOSE = 500

const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?(?![0-9a-f])/

/**
 * The objects that references point to, read from their files: all that an ordinary clone or fetch wants. Invariant: only
 * the current value of a reference counts. A line of packed-refs is out of date while the reference has a file of its own,
 * and git leaves the line there until it packs the references again. The files are listed before packed-refs is read: git
 * writes packed-refs before it deletes a file, so a line without a file is not older than the list.
 */
const readTips = async (folder: string): Promise<ReadonlySet<string>> => {
  const entries = await readdir(join(folder, 'refs'), { withFileTypes: true, recursive: true }).catch(
    ifMissing<Dirent[]>([]),
  )
  // A lock file holds a value that the reference may never get.
  const loose = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.lock'))
  const files = loose.slice(0, MAX_LOOSE).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(files.map((file) => readFile(file, 'latin1').catch(ifMissing(''))))
  const tips = new Set(texts.flatMap((text) => text.match(OBJECT_ID) ?? []))
  if (loose.length > MAX_LOOSE) return tips
  const overridden = new Set(files.map((file) => relative(folder, file).split(sep).join('/')))
  // In UTF-8, as file names are: references may have any characters.
  const packed = await readFile(join(folder, 'packed-refs'), 'utf8').catch(ifMissing(''))
  for (const [ref, ids] of parsePackedRefs(packed))
    if (!overridden.has(ref)) for (const id of ids) tips.add(id)
  return tips
}

/** The objects of each packed reference; a line with `^` names the object that the tag of the line before it points to. */
const parsePackedRefs = (text: string): Map<string, string[]> => {
  const packed = new Map<string, string[]>()
  let last: string[] = []
  for (const line of text.split('\n')) {
    const [id] = OBJECT_ID.exec(line.replace('^', '')) ?? []
    if (id === undefined) continue
    if (line.startsWith('^')) last.push(id)
    else {
      last = [id]
      packed.set(line.slice(id.length + 1), last)
    }
  }
  return packed
}
