import type { Work } from '../records/errands.ts'
import { paced } from '../records/paced.ts'
import { comments, issues, releases, trackers } from '../records/schema.ts'
import type { Change } from '../records/store.ts'
import { repositoryById } from './lookup.ts'

/*
 * What a repository or an issue that is gone leaves behind: nobody can reach it any more, for each comment is looked for
 * by its issue, and each issue and release by its repository.
 */

/** Removes the comments of an issue that is gone. */
export const removingComments: Work = {
  async step(tx, issue, limit) {
    if ((await issues.get(tx, [issue])) !== undefined) return 0
    return removeComments(tx, issue, limit)
  },
}

/** Removes the issues and releases of a repository that is gone. */
export const removingContents: Work = {
  async step(tx, repository, limit) {
    if ((await repositoryById(tx, repository)) !== undefined) return 0
    let did = 0
    for (const remove of [removeIssues, removeReleases]) {
      did += await remove(tx, repository, limit - did)
      if (did >= limit) return did
    }
    await trackers.remove(tx, [repository])
    return did
  },
}

const removeComments = async (tx: Change, issue: number, limit: number): Promise<number> => {
  const found = await comments.list(tx, 'issue', { prefix: [issue], limit })
  for await (const { id } of paced(found)) await comments.remove(tx, [id])
  return found.length
}

const removeIssues = async (tx: Change, repository: number, limit: number): Promise<number> => {
  let did = 0
  for (const state of ['open', 'closed'])
    for await (const issue of paced(
      await issues.list(tx, 'state', { prefix: [repository, state], limit: limit - did }),
    )) {
      did += await removeComments(tx, issue.id, limit - did)
      if (did >= limit) return did
      await issues.remove(tx, [issue.id])
      if (++did >= limit) return did
    }
  return did
}

const removeReleases = async (tx: Change, repository: number, limit: number): Promise<number> => {
  const found = await releases.list(tx, 'time', { prefix: [repository], limit })
  for await (const { id } of paced(found)) await releases.remove(tx, [id])
  return found.length
}
