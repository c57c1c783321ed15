import { AllotError, existing, invalidMember } from '../../errors.ts'
import { newTag } from '../../git/objects/pack.ts'
import type { PersonAtTime } from '../../git/objects/parse.ts'
import { commitOf, type OpenRepository } from './open-repository.ts'
import { type Pusher, pushChanges } from './push-changes.ts'
import { checkRefName, findBranch, findTag, type Ref } from './refs.ts'

const checkFree = (kind: string, name: string, present: Ref | undefined): void => {
  if (present !== undefined) throw new AllotError('conflict', `a ${kind} named ${name} already exists`)
}

/** @throws AllotError not_found when there is no such branch, tag or commit */
const existingCommit = async (open: OpenRepository, name: string): Promise<string> =>
  existing(await commitOf(open, name), `there is no branch, tag or commit ${name}`)

/**
 * @param from branch, tag or commit; the default branch when it is empty
 * @throws AllotError invalid for a wrong name; not_found; conflict when the branch exists; else as
 * {@link pushChanges}
 */
export const createBranch = async (
  open: OpenRepository,
  pusher: Pusher,
  name: string,
  from: string,
): Promise<Ref> => {
  checkRefName('new_branch_name', name)
  checkFree('branch', name, await findBranch(open, name))
  const commit = await existingCommit(open, from)
  const ref = `refs/heads/${name}`
  await pushChanges(open.repository, pusher, [{ ref, before: null, after: commit }])
  return { ref, id: commit, type: 'commit', target: commit, targetType: 'commit' }
}

/**
 * @returns whether the branch existed
 * @throws AllotError forbidden for the default branch; else as {@link pushChanges}
 */
export const deleteBranch = async (open: OpenRepository, pusher: Pusher, name: string): Promise<boolean> => {
  const present = await findBranch(open, name)
  if (present === undefined) return false
  if (name === open.repository.defaultBranch)
    throw new AllotError('forbidden', `${name} is the default branch: it cannot be deleted`)
  await pushChanges(open.repository, pusher, [{ ref: present.ref, before: present.id, after: null }])
  return true
}

/**
 * Moves a branch to another commit.
 * @param expected where the client saw the branch; it may be anywhere when this is empty
 * @returns whether the branch exists
 * @throws AllotError invalid when the branch is elsewhere, or when the move would lose commits and is not
 * forced; not_found without the commit; else as {@link pushChanges}
 */
export const moveBranch = async (
  open: OpenRepository,
  pusher: Pusher,
  name: string,
  { to, expected, isForced }: { to: string; expected: string; isForced: boolean },
): Promise<boolean> => {
  const present = await findBranch(open, name)
  if (present === undefined) return false
  if (expected !== '' && expected !== present.id)
    throw invalidMember('old_commit_id', `the branch is at ${present.id}, and not at ${expected}`)
  const after = await existingCommit(open, to)
  if (!isForced && !(await isAncestor(open, present.id, after)))
    throw invalidMember('new_commit_id', `${after} does not contain ${present.id}: set force to lose commits`)
  if (after !== present.id)
    await pushChanges(open.repository, pusher, [{ ref: present.ref, before: present.id, after }])
  return true
}

const isAncestor = async ({ git, access }: OpenRepository, one: string, other: string): Promise<boolean> =>
  (await git.run(access, 'merge-base', ['--is-ancestor', one, other])) !== undefined

/**
 * Gives a branch another name.
 * @param makeDefault called when it is the default branch, after the new name exists
 * @returns whether the branch exists
 * @throws AllotError invalid for a wrong name; conflict when the new branch exists; else as
 * {@link pushChanges}
 */
export const renameBranch = async (
  open: OpenRepository,
  pusher: Pusher,
  { from, to }: { from: string; to: string },
  makeDefault: () => Promise<unknown>,
): Promise<boolean> => {
  checkRefName('name', to)
  const present = await findBranch(open, from)
  if (present === undefined) return false
  checkFree('branch', to, await findBranch(open, to))
  const created = { ref: `refs/heads/${to}`, before: null, after: present.id }
  const deleted = { ref: present.ref, before: present.id, after: null }
  if (from !== open.repository.defaultBranch) {
    await pushChanges(open.repository, pusher, [created, deleted])
    return true
  }
  // git does not delete the branch that clones check out.
  await pushChanges(open.repository, pusher, [created])
  await makeDefault().catch(async (error) => {
    const isUnknown = error instanceof AllotError && error.isOutcomeUnknown
    const undone = { ...created, before: present.id, after: null }
    if (!isUnknown) await pushChanges(open.repository, pusher, [undone]).catch(() => undefined)
    throw error
  })
  await moveAndDelete(open, pusher, { from, ref: created.ref, at: present.id }, 3)
  return true
}

/** Deletes a renamed branch. What was pushed to it meanwhile moves to its new name. */
const moveAndDelete = async (
  open: OpenRepository,
  pusher: Pusher,
  { from, ref, at }: { readonly from: string; readonly ref: string; readonly at: string },
  tries: number,
): Promise<void> => {
  const last = await findBranch(open, from)
  if (last === undefined) return
  const moved = last.id === at ? [] : [{ ref, before: at, after: last.id }]
  const deleted = { ref: last.ref, before: last.id, after: null }
  await pushChanges(open.repository, pusher, [...moved, deleted]).catch((error) => {
    if (tries === 1 || !(error instanceof AllotError) || error.code !== 'conflict') throw error
    return moveAndDelete(open, pusher, { from, ref, at }, tries - 1)
  })
}

/**
 * @param target branch, tag or commit; the default branch when it is empty
 * @param message of an annotated tag; a plain tag is made when it is empty
 * @throws AllotError invalid for a wrong name; not_found; conflict when the tag exists; else as
 * {@link pushChanges}
 */
export const createTag = async (
  open: OpenRepository,
  pusher: Pusher,
  { name, target, message, tagger }: { name: string; target: string; message: string; tagger: PersonAtTime },
): Promise<Ref> => {
  checkRefName('tag_name', name)
  checkFree('tag', name, await findTag(open, name))
  const commit = await existingCommit(open, target)
  const ref = `refs/tags/${name}`
  const tag = message === '' ? undefined : newTag({ name, commit, tagger, message })
  const after = tag?.id ?? commit
  await pushChanges(open.repository, pusher, [{ ref, before: null, after }], tag === undefined ? [] : [tag])
  return { ref, id: after, type: tag === undefined ? 'commit' : 'tag', target: commit, targetType: 'commit' }
}

/** @returns whether the tag existed */
export const deleteTag = async (open: OpenRepository, pusher: Pusher, name: string): Promise<boolean> => {
  const present = await findTag(open, name)
  if (present === undefined) return false
  await pushChanges(open.repository, pusher, [{ ref: present.ref, before: present.id, after: null }])
  return true
}
