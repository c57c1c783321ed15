import { formatSizeFixed } from '../../lib/byte-sizes.ts'
import { invalid } from '../../lib/errors.ts'
import { fetchFrom, usesLfs } from '../../lib/git/remote-fetch.ts'
import type { Repository } from '../../lib/records/schema/index.ts'
import type { Migration } from './migration.ts'
import type { SourceRepository } from './source-types.ts'

const LFS = 'LFS objects: `git lfs fetch --all` there and `git lfs push --all` here bring them'

/**
 * Noted before git changes anything, and counted when it is done, as a push is: a kill in between leaves a repository that
 * the next start counts, and the next run completes.
 */
export const copyGitData = async (
  { source, allot, report, git }: Migration,
  { id, empty, size }: Repository,
  given: SourceRepository,
): Promise<void> => {
  if (git === undefined)
    return report.behind('git data, for repositories are turned off here', given.full_name)
  if (empty) refuseLarge(given, git.largest)
  const { pushJournal } = allot.hosting
  let landing: number | undefined
  const origin = { url: urlOf(source.base, given), authorization: source.authorization }
  const { code, stderr } = await fetchFrom(id, origin, {
    ...git,
    isEmpty: empty,
    async started(pid) {
      landing = await pushJournal.begin(id, pid)
    },
  })
  const after = landing === undefined ? undefined : await pushJournal.settle(landing, id)
  if (code !== 0)
    throw invalid(`its git data did not come: ${code === 1 && !empty ? DIVERGED : lastOf(stderr)}`)
  if (after === undefined || after.size === size) return report.found('git data')
  report.copied('git data')
  if (await usesLfs(id, git)) report.behind(LFS, given.full_name)
}

const DIVERGED = 'some of its branches or tags have gone another way here, and stay as they are'

const urlOf = (base: string, { owner, name }: SourceRepository): string =>
  `${base}/${encodeURIComponent(owner.login)}/${encodeURIComponent(name)}.git`

const refuseLarge = ({ size }: SourceRepository, largest: number | undefined) => {
  const bytes = size * 1024
  if (largest !== undefined && bytes > largest)
    throw invalid(
      `it has ${formatSizeFixed(bytes)}, and git.largest_push lets ${formatSizeFixed(largest)} come at once`,
    )
}

/** Of all that git says the last sentence is the one that says why. */
const lastOf = (said: string): string =>
  said.split('\n').findLast((line) => line.trim() !== '') ?? 'git was stopped'
