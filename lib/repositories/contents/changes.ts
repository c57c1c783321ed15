import { invalid } from '../../errors.ts'
import { type Commit, OBJECT_ID } from '../../git/objects/parse.ts'
import type { OpenRepository } from './open-repository.ts'
import { recordsOf } from './trees.ts'

/** The changes of a commit against its first parent. */
export interface CommitChanges {
  readonly files: readonly { readonly filename: string; readonly status: FileStatus }[]
  /** Lines; files that are not text count as none. */
  readonly additions: number
  readonly deletions: number
}

export type FileStatus = 'added' | 'removed' | 'modified'

const STATUSES: Record<string, FileStatus> = { A: 'added', D: 'removed' }

const OPTIONS = ['--stdin', '-z', '-r', '--root', '--no-renames', '--raw', '--no-ext-diff']

/** Characters of the names of files that one list has, and of git's output that is read for it. */
const [MAX_NAMES, MAX_OUTPUT] = [2 * 1024 * 1024, 64 * 1024 * 1024]

interface Draft {
  files: { filename: string; status: FileStatus }[]
  additions: number
  deletions: number
}

/**
 * The changes of some commits against their first parents, by their ids.
 * @param hasLines whether lines are counted, for which git reads the files; they are 0 otherwise
 */
export const changesOf = async (
  { git, access }: OpenRepository,
  commits: readonly Pick<Commit, 'id' | 'parents'>[],
  hasLines = true,
): Promise<Map<string, CommitChanges>> => {
  if (commits.length === 0) return new Map()
  // git compares a commit with the parents that its line names.
  const input = commits.map(({ id, parents }) => [id, ...parents.slice(0, 1)].join(' '))
  const options = hasLines ? [...OPTIONS, '--numstat'] : OPTIONS
  const { changes, add } = changesParser()
  let output = 0
  for await (const field of recordsOf(git.chunks(access, 'diff-tree', options, `${input.join('\n')}\n`))) {
    output += field.length
    if (output > MAX_OUTPUT) throw invalid(`the changes have more than ${MAX_OUTPUT} bytes: ask for less`)
    add(field)
  }
  return changes
}

/** The arguments of git-diff-tree for the changes of a commit against its first parent. */
export const treesOf = ({ id, parents: [parent] }: Pick<Commit, 'id' | 'parents'>): readonly string[] =>
  parent === undefined ? ['--root', '--no-commit-id', id] : [parent, id]

/**
 * Parses the output of git: for each commit its id, then `:modes ids status` and a path for each file, then
 * `added deleted path` for each file. Files beyond {@link MAX_NAMES} are left out, and their lines counted.
 */
const changesParser = () => {
  const changes = new Map<string, CommitChanges>()
  let current: Draft = { files: [], additions: 0, deletions: 0 }
  let status: FileStatus | undefined
  let names = 0
  const addFile = (filename: string, status: FileStatus) => {
    names += filename.length
    if (names <= MAX_NAMES) current.files.push({ filename, status })
  }
  const add = (field: string) => {
    if (status !== undefined) {
      addFile(field, status)
      status = undefined
    } else if (OBJECT_ID.test(field)) {
      current = { files: [], additions: 0, deletions: 0 }
      changes.set(field, current)
    } else if (field.startsWith(':')) status = STATUSES[field.at(-1)!] ?? 'modified'
    else if (field !== '') {
      const [additions, deletions] = field.split('\t', 2)
      current.additions += Number(additions) || 0
      current.deletions += Number(deletions) || 0
    }
  }
  return { changes, add }
}
