import { AllotError, existing, invalid, invalidMember } from '../../errors.ts'
import { type NewObject, newCommit, newObject } from '../../git/objects/pack.ts'
import { MODES, type PersonAtTime } from '../../git/objects/parse.ts'
import { readCommit } from './commits.ts'
import type { OpenCommit, OpenRepository } from './open-repository.ts'
import { type Pusher, pushChanges } from './push-changes.ts'
import { checkRefName, findBranch } from './refs.ts'
import { checkedPath, checkSha, TreeEditor } from './tree-editor.ts'

/** A change of one file. */
export interface FileOperation {
  /** `upload` creates or overwrites without a `sha`; `update` of an existing file needs one. */
  readonly operation: 'create' | 'update' | 'upload' | 'rename' | 'delete'
  readonly path: string
  /** The new content; of a rename, absent keeps the old one. */
  readonly content?: Buffer | undefined
  /** Id of the file that the client has seen. */
  readonly sha?: string | undefined
  /** Where the file was before. */
  readonly fromPath?: string | undefined
}

export interface CommitOptions {
  /** The default branch when absent. */
  readonly branch?: string | undefined
  /** The branch that the commit is made on, which begins where `branch` is. */
  readonly newBranch?: string | undefined
  /** Whether an existing `newBranch` is replaced. */
  readonly isForced?: boolean
  readonly message: string
  readonly author: PersonAtTime
  readonly committer: PersonAtTime
}

/**
 * Changes files in one commit.
 * @returns the commit
 * @throws AllotError not_found without the branch; invalid for a wrong path or operation; conflict when a
 *   file or the branch has changed since the client read it; else as {@link pushChanges}
 */
export const changeFiles = async (
  open: OpenRepository,
  pusher: Pusher,
  operations: readonly FileOperation[],
  options: CommitOptions,
): Promise<OpenCommit> => {
  const { base, target, before } = await placeOf(open, options)
  const parent = base === undefined ? undefined : await readCommit(open, base)
  // Without its tree, the new commit would have no other files.
  if (parent?.tree === '')
    throw invalid(`the commit ${base} is too large to be read: push the change with git`)
  const editor = new TreeEditor(open, parent?.tree)
  const blobs: NewObject[] = []
  for (const operation of operations) blobs.push(...(await apply(editor, operation)))
  const trees = await editor.write()
  const { author, committer, message } = options
  const parents = base === undefined ? [] : [base]
  const commit = newCommit({ tree: trees.at(-1)!.id, parents, author, committer, message })
  const update = { ref: `refs/heads/${target}`, before, after: commit.id }
  await pushChanges(open.repository, pusher, [update], distinct([...blobs, ...trees, commit]))
  return { ...open, commit: commit.id }
}

const distinct = (objects: readonly NewObject[]): NewObject[] => [
  ...new Map(objects.map((object) => [object.id, object])).values(),
]

interface Place {
  /** Commit that the new one is based on; undefined in an empty repository. */
  readonly base: string | undefined
  /** Name of the branch that gets the commit. */
  readonly target: string
  /** Where that branch is now; null when it does not exist. */
  readonly before: string | null
}

const placeOf = async (open: OpenRepository, options: CommitOptions): Promise<Place> => {
  const { repository } = open
  const branch = options.branch || repository.defaultBranch
  const target = options.newBranch || branch
  for (const [member, name] of Object.entries({ branch, new_branch: target }))
    checkRefName(member, name, 'branch name')
  const base = (await findBranch(open, branch))?.target
  if (base === undefined && !repository.empty)
    throw new AllotError('not_found', `there is no branch named ${branch}`)
  if (target === branch) return { base, target, before: base ?? null }
  const existing = (await findBranch(open, target))?.target
  if (existing !== undefined && options.isForced !== true)
    throw invalidMember('new_branch', `the branch ${target} already exists`)
  return { base, target, before: existing ?? null }
}

/** @returns the blobs that the operation brings */
const apply = async (editor: TreeEditor, operation: FileOperation): Promise<NewObject[]> => {
  const path = checkedPath(operation.path)
  if (operation.operation === 'delete') {
    await removeFile(editor, path, operation.sha)
    return []
  }
  const given = operation.fromPath ? checkedPath(operation.fromPath) : undefined
  // A file that stays where it is was not moved: its content is overwritten only with its sha.
  const from = given === path ? undefined : given
  if (operation.operation === 'rename' && from === undefined)
    throw invalidMember('from_path', 'must be another path than path, in a rename')
  const present = await editor.find(from ?? path)
  checkTarget({ ...operation, fromPath: from }, from ?? path, present)
  if (from !== undefined) {
    // Removed first, since a file can take the name of the folder that it leaves empty.
    await editor.remove(from)
    if ((await editor.find(path)) !== undefined) throw invalidMember('path', `${path} already exists`)
  }
  const blob = operation.content === undefined ? undefined : newObject('blob', operation.content)
  const mode = present !== undefined && present.mode !== MODES.tree ? present.mode : MODES.file
  await editor.set(path, { mode, id: blob?.id ?? present!.id })
  return blob === undefined ? [] : [blob]
}

const checkTarget = (
  { operation, sha, content, fromPath }: FileOperation,
  path: string,
  present: Awaited<ReturnType<TreeEditor['find']>>,
): void => {
  if (operation === 'create' && present !== undefined && !fromPath)
    throw invalidMember('path', `${path} already exists: update it, with its sha`)
  const isMissing = present === undefined
  if (isMissing && (operation === 'rename' || fromPath || sha))
    throw new AllotError('not_found', `there is no file at ${path}`)
  if (content === undefined && operation !== 'rename')
    throw invalidMember('content', 'must be given, as base64')
  if (isMissing) return
  if (present.mode === MODES.tree || present.mode === MODES.submodule)
    throw invalidMember('path', `${path} is not a file`)
  if (sha) checkSha(path, present, sha)
  else if (operation === 'update' && !fromPath)
    throw invalidMember('sha', `must be the sha of ${path}, as it was read`)
}

const removeFile = async (editor: TreeEditor, path: string, sha: string | undefined): Promise<void> => {
  const present = existing(await editor.find(path), `there is no file at ${path}`)
  if (present.mode === MODES.tree) throw invalidMember('path', `${path} is a folder: delete its files`)
  if (!sha) throw invalidMember('sha', `must be the sha of ${path}, as it was read`)
  checkSha(path, present, sha)
  await editor.remove(path)
}
