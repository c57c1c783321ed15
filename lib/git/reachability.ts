/** Which objects references reach, for the check of `wants` in want-check.ts. */
import { AllotError } from '../errors.ts'
import { configuration, ENVIRONMENT, type ProcessLimits, startProcess } from './process.ts'
import { readReferences } from './references.ts'

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
 * Checks wants as cheaply as possible. A clone wants tips: no process. Another commit: one walk of commits.
 * Trees, blobs and tags, which partial clones want one by one: a walk of objects that ends with the last of
 * them, first over the tips, then over everything. The bitmap that `git gc` writes makes that walk short.
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
  const { createInterface } = await import('node:readline')
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

/** The objects that references point to: all that an ordinary clone or fetch wants. */
const readTips = async (folder: string): Promise<ReadonlySet<string>> => {
  const { loose, packed } = await readReferences(folder)
  const tips = new Set<string>()
  for (const id of loose.values()) tips.add(id)
  for (const ids of packed.values()) for (const id of ids) tips.add(id)
  return tips
}
