import { invalid } from '../../../lib/errors.ts'
import { fetchFrom } from '../../../lib/git/remote-fetch.ts'
import { apiPath, type Migration, reportErrors } from '../migration.ts'
import type { CopiedRepository } from '../repositories.ts'
import type { SourceRepository } from '../shapes.ts'

const DIVERGED = 'some of its branches or tags have diverged here, and stay unchanged'
export const OF_INACTIVE =
  'git data of owners who are inactive at the source, which gives it to nobody: activate them there, and run this again'
const GIT_TURNED_OFF = 'git data, because repositories are turned off here'

/** Copies the git data of a repository, which an existing one may still lack. */
export const copyGitData = (migration: Migration, copied: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the repository ${copied.given.full_name}`, async () => {
    const { git, report } = migration
    if (copied.given.empty) return
    if (git === undefined) return report.note('notCopied', GIT_TURNED_OFF, copied.given.full_name)
    await fetchGitData(migration, git, copied)
  })

/**
 * Fetches branches and tags. The push journal records the fetch before git changes anything, so that the next
 * start counts what an interrupted fetch has left, and the next migration completes it.
 */
const fetchGitData = async (
  { source, allot, report }: Migration,
  git: NonNullable<Migration['git']>,
  { repository: { id, empty, size }, given }: CopiedRepository,
): Promise<void> => {
  const { pushJournal } = allot.hosting
  let entry: number | undefined
  const url = `${source.base + apiPath(given.owner.login, given.name)}.git`
  const { code, stderr } = await fetchFrom(
    id,
    { url, authorization: source.authorization },
    {
      ...git,
      isEmpty: empty,
      async started(pid) {
        entry = await pushJournal.begin(id, pid)
      },
    },
  )
  const after = entry === undefined ? undefined : await pushJournal.settle(entry, id)
  if (code !== 0 && isRefused(stderr, given)) return report.note('notCopied', OF_INACTIVE, given.full_name)
  if (code !== 0)
    throw invalid(`its git data could not be fetched: ${code === 1 && !empty ? DIVERGED : lastLine(stderr)}`)
  if (after === undefined || after.size === size) return report.count('git data', 'found')
  report.count('git data', 'copied')
}

/** Whether the source refuses the git data because of its owner. A Gitea does that also to administrators. */
export const isRefused = (message: string, { owner }: SourceRepository): boolean =>
  !owner.active && /returned error: 403/.test(message)

/** The last line of what git prints says why it failed. */
const lastLine = (stderr: string): string =>
  stderr.split('\n').findLast((line) => line.trim() !== '') ?? 'git was stopped'
