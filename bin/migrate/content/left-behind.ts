import { ifAvailable, type Migration, reportErrors } from '../migration.ts'
import { type CopiedRepository, repositoryPath } from '../repositories.ts'

/** Lists of a repository that Allot has nothing for, by what their entries are. */
const LISTS: readonly [list: string, what: string][] = [
  ['wiki/pages', 'wikis'],
  ['keys', 'deploy keys'],
  ['branch_protections', 'branch protections'],
  ['tag_protections', 'tag protections'],
  ['labels', 'labels'],
  ['milestones?state=all', 'milestones'],
  ['actions/tasks', 'runs of Actions'],
]

const MIRROR = 'mirrors, which become ordinary repositories'
const AVATAR = 'avatars of repositories'

/** Of an image that was uploaded: the file of a generated one has the id of the repository as its name. */
const UPLOADED = /\/repo-avatars\/\d*[^/\d][^/]*$/

/**
 * Lists in the report of every run the data of a repository that is not copied. A list that the source fails
 * to answer is in the same place with the error: nothing of it would have been copied.
 */
export const reportLeftBehind = async (
  { source, report }: Migration,
  { given }: CopiedRepository,
): Promise<void> => {
  const { full_name: name, mirror, avatar_url: avatar } = given
  if (mirror) report.note('notCopied', MIRROR, name)
  if (UPLOADED.test(avatar)) report.note('notCopied', AVATAR, name)
  // An Allot has no such data.
  if (source.isAllot) return
  for (const [list, what] of LISTS) {
    const note = (found: unknown) => report.note('notCopied', what, `${name} (${found})`)
    await reportErrors({ failed: (_, reason) => note(reason) }, what, async () => {
      const count = await ifAvailable(source.count(`${repositoryPath(given)}/${list}`))
      if (count) note(count)
    })
  }
}
