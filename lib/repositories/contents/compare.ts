import type { Commit } from '../../git/objects/parse.ts'
import { changesOf, type FileStatus } from './changes.ts'
import { countList, readCommits } from './commits.ts'
import { commitOf, type OpenRepository } from './open-repository.ts'

export interface Comparison {
  /** Commits that only the head has, of which {@link Comparison.commits} are the newest. */
  readonly total: number
  readonly commits: readonly Commit[]
  /** Changes of the head since the merge base. */
  readonly files: readonly { readonly filename: string; readonly status: FileStatus }[]
}

/** Commits of a comparison in one response. */
const MAX_COMMITS = 250

/**
 * @param text `base...head`, or `base..head`; only a head is compared with the default branch
 * @returns undefined when one of the references does not exist
 */
export const compare = async (open: OpenRepository, text: string): Promise<Comparison | undefined> => {
  const dots = text.indexOf('..')
  const base = text.slice(0, Math.max(dots, 0))
  const head = dots < 0 ? text : text.slice(dots + (text[dots + 2] === '.' ? 3 : 2))
  const [left, right] = [await commitOf(open, base), await commitOf(open, head)]
  if (left === undefined || right === undefined) return undefined
  const { git, access } = open
  const range = `${left}..${right}`
  // One after another: together, they would wait for each other where the client's share is one or two
  // commands.
  const listed = await git.lines(access, 'rev-list', [`--max-count=${MAX_COMMITS}`, range])
  const total = await countList(open, [range])
  const [parted = left] = await git.lines(access, 'merge-base', [left, right])
  const commits = await readCommits(open, listed)
  return { total, commits, files: await filesBetween(open, parted, right) }
}

/** Compares two commits as if the one were the only parent of the other. */
const filesBetween = async (open: OpenRepository, from: string, to: string): Promise<Comparison['files']> =>
  from === to ? [] : ((await changesOf(open, [{ id: to, parents: [from] }], false)).get(to)?.files ?? [])
