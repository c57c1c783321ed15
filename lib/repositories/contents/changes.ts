import { LRUCache } from 'lru-cache'
import { namedCache } from '../../caches.ts'
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

/** Changes by repository, parent and commit, which never change. */
const known = namedCache(
  'commit changes',
  new LRUCache<string, CommitChanges>({
    maxSize: 16 * 1024 * 1024,
    maxEntrySize: 1024 * 1024,
    sizeCalculation: ({ files }) => files.reduce((sum, { filename }) => sum + filename.length + 100, 300),
  }),
)

type Compared = Pick<Commit, 'id' | 'parents'>

/** The changes of some commits against their first parents, by their ids. */
export const changesOf = async (
  open: OpenRepository,
  commits: readonly Compared[],
): Promise<Map<string, CommitChanges>> => {
  const keys = new Map(
    commits.map(({ id, parents }) => [id, `${open.access.repository}:${parents[0]}..${id}`]),
  )
  const key = (id: string) => keys.get(id)!
  const unknown = commits.filter(({ id }) => !known.has(key(id)))
  const read = unknown.length === 0 ? new Map<string, CommitChanges>() : await readChanges(open, unknown)
  for (const [id, changes] of read) known.set(key(id), changes)
  const found = new Map<string, CommitChanges>()
  for (const { id } of commits) {
    const changes = read.get(id) ?? known.get(key(id))
    if (changes !== undefined) found.set(id, changes)
  }
  return found
}

const OPTIONS = ['--stdin', '-z', '-r', '--root', '--no-renames', '--raw', '--numstat', '--no-ext-diff']

/** Characters of the names of files that one list has, and of git's output that is read for it. */
const [MAX_NAMES, MAX_OUTPUT] = [2 * 1024 * 1024, 64 * 1024 * 1024]

interface Draft {
  files: { filename: string; status: FileStatus }[]
  additions: number
  deletions: number
}

const readChanges = async (
  { git, access }: OpenRepository,
  commits: readonly Compared[],
): Promise<Map<string, CommitChanges>> => {
  // git compares a commit with the parents that its line names.
  const input = commits.map(({ id, parents }) => [id, ...parents.slice(0, 1)].join(' '))
  const { changes, add } = changesParser()
  let output = 0
  for await (const field of recordsOf(git.chunks(access, 'diff-tree', OPTIONS, `${input.join('\n')}\n`))) {
    output += field.length
    if (output > MAX_OUTPUT) throw invalid(`the changes have more than ${MAX_OUTPUT} bytes: ask for less`)
    add(field)
  }
  return changes
}

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
