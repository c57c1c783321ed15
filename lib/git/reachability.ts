/** Which objects references reach, for the check of `wants` in fetch.ts. */
import type { Dirent } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { createInterface } from 'node:readline'
import { ifMissing } from '../disk.ts'
import { AllotError } from '../errors.ts'
import { configuration, ENVIRONMENT, type ProcessLimits, startProcess } from './process.ts'

/** @returns an object that no reference reaches; undefined when all are reachable or do not exist */
export type FindUnreachable = (wants: ReadonlySet<string>) => Promise<string | undefined>

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

/** Loose references that are read from the disk; with more of them, git is asked instead. */
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
