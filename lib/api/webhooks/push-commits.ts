/** The commits of a push, which are read from git when the delivery is sent: pushes do not wait for it. */

import { repositoryById } from '../../accounts/find.ts'
import { clientOfAccount } from '../../clients.ts'
import { AllotError } from '../../errors.ts'
import type { Commit } from '../../git/objects/parse.ts'
import type { HookPayload } from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import { type CommitChanges, changesOf } from '../../repositories/contents/changes.ts'
import { countList, readCommits } from '../../repositories/contents/commits.ts'
import {
  commitOf,
  type OpenRepository,
  type RepositoryContents,
} from '../../repositories/contents/open-repository.ts'
import { timestamp } from '../fields.ts'

/** Commits in a payload, the newest ones of the push. */
const MAX_COMMITS = 20
/** Commits that are counted for `total_commits`. */
const MAX_COUNT = 10_000
const MAX_MESSAGE = 8192
/** Characters of the names of files in a payload. */
const MAX_NAMES = 100_000

interface CommitSource {
  readonly store: Store
  /** Undefined when git data is not served. */
  readonly contents: RepositoryContents | undefined
}

type Pushed = NonNullable<HookPayload['commits']>
interface Payload {
  readonly ref: string
  readonly repository: { readonly html_url: string }
}

/**
 * Completes the payload of a push. It stays as it is when the repository is gone, or its commits are gone or
 * too large to be read.
 * @returns the payload, as JSON
 * @throws AllotError unavailable when too many git commands run, or one takes too long, and whatever else
 * fails: try again, and then send it as it is
 */
export const addCommits = async (
  { store, contents }: CommitSource,
  { creator, text: payload, commits: pushed }: HookPayload,
): Promise<string> => {
  if (pushed === undefined || contents === undefined) return payload
  const repository = await store.read((tx) => repositoryById(tx, pushed.repository))
  if (repository === undefined) return payload
  const parsed = JSON.parse(payload) as Payload
  try {
    const open = contents.of(repository, clientOfAccount(creator))
    return JSON.stringify({ ...parsed, ...(await commitsIn(open, pushed, parsed)) })
  } catch (error) {
    if (error instanceof AllotError && error.code !== 'unavailable') return payload
    throw error
  }
}

const commitsIn = async (open: OpenRepository, pushed: Pushed, { ref, repository }: Payload) => {
  // As on Gitea: a tag brings no commits, and what a branch points to is the head also when it is not new.
  const selection = ref.startsWith('refs/tags/') ? undefined : await selectionOf(open, pushed, ref)
  const ids = selection === undefined ? [] : await idsIn(open, MAX_COMMITS, selection)
  const found = await readCommits(open, ids.length > 0 ? ids : await idsIn(open, 1, [pushed.after, '--']))
  const changes = await changesOf(open, found)
  const names = { left: MAX_NAMES }
  const presented = found.map((commit) =>
    presentCommit(commit, changes.get(commit.id), repository.html_url, names),
  )
  const head = { head_commit: presented[0] ?? null }
  if (selection === undefined) return head
  const commits = presented.slice(0, ids.length)
  const total =
    ids.length < MAX_COMMITS ? ids.length : await countList(open, [`--max-count=${MAX_COUNT}`, ...selection])
  return { commits, total_commits: total, ...head }
}

const idsIn = (open: OpenRepository, limit: number, selection: readonly string[]): Promise<string[]> =>
  open.git.lines(open.access, 'rev-list', [`--max-count=${limit}`, ...selection])

/** A new branch brings what the default branch does not have. A test names the last commit alone. */
const selectionOf = async (
  open: OpenRepository,
  { before, after }: Pushed,
  ref: string,
): Promise<string[]> => {
  if (before === after) return ['--no-walk', after, '--']
  if (before !== null) return [after, `^${before}`, '--']
  const isDefault = ref === `refs/heads/${open.repository.defaultBranch}`
  const base = isDefault ? undefined : await commitOf(open, '')
  return [after, ...(base === undefined ? [] : [`^${base}`]), '--']
}

const presentPerson = ({ name, email }: Commit['author']) => ({ name, email, username: '' })

const presentCommit = (
  { id, message, author, committer }: Commit,
  changes: CommitChanges | undefined,
  url: string,
  names: { left: number },
) => {
  const files = (changes?.files ?? []).filter(({ filename }) => {
    names.left -= filename.length
    return names.left >= 0
  })
  const withStatus = (wanted: string) =>
    files.flatMap(({ filename, status }) => (status === wanted ? [filename] : []))
  return {
    id,
    message: message.slice(0, MAX_MESSAGE),
    url: `${url}/commit/${id}`,
    author: presentPerson(author),
    committer: presentPerson(committer),
    verification: null,
    timestamp: timestamp(committer.time),
    added: withStatus('added'),
    removed: withStatus('removed'),
    modified: withStatus('modified'),
  }
}
