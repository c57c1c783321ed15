import type { Dirent } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { createInterface } from 'node:readline'
import { AllotError } from '../errors.ts'
import { absentAs } from './disk.ts'
import { configured, ENVIRONMENT } from './environment.ts'
import { startProcess, type Timeouts } from './process.ts'
import type { FindUnreachable } from './fetch.ts'

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
