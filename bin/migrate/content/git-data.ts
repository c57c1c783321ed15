import { invalid } from '../../../lib/errors.ts'
import { localReferences, type References, remoteReferences } from '../../../lib/git/remote-check.ts'
import { fetchFrom, type RemoteOrigin } from '../../../lib/git/remote-fetch.ts'
import type { MigrationRecord } from '../../../lib/records/schema/index.ts'
import { MAX_NAME } from '../../../lib/repositories/migration-log.ts'
import { apiPath, type Migration, reportErrors } from '../migration.ts'
import type { CopiedRepository } from '../repositories.ts'
import type { SourceRepository } from '../shapes.ts'

const DIVERGED = 'some of its branches or tags have diverged here, and stay unchanged'
const NOT_LISTED =
  'the source did not list its branches and tags, so those that it changed by force or removed stay'
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
 * Fetches branches and tags. A reference that is as an earlier run has left it follows the source in any
 * case: it is overwritten after a forced push there, or removed. The push journal records the fetch before
 * git changes anything, so that the next start counts what an interrupted fetch has left, and the next
 * migration completes it.
 */
const fetchGitData = async (
  migration: Migration,
  git: NonNullable<Migration['git']>,
  copied: CopiedRepository,
): Promise<void> => {
  const { source, allot, report } = migration
  const { repository, given } = copied
  const { id, empty, size } = repository
  const { pushJournal } = allot.hosting
  let entry: number | undefined
  const url = `${source.base + apiPath(given.owner.login, given.name)}.git`
  const origin = { url, authorization: source.authorization }
  const before = await referencesOf(migration, git, copied, origin)
  const { code, stderr } = await fetchFrom(id, origin, {
    ...git,
    isEmpty: empty,
    ...followed(before),
    async started(pid) {
      entry = await pushJournal.begin(id, pid)
    },
  })
  const after = entry === undefined ? undefined : await pushJournal.settle(entry, id)
  await saveReferences(migration, copied, before, await localReferences(git.git, git.directory, id))
  if (code !== 0 && isRefused(stderr, given)) return report.note('notCopied', OF_INACTIVE, given.full_name)
  // While the source is down, this ends the migration: each further repository would fail, too.
  if (code !== 0) await source.request('/version')
  if (code !== 0 && (code !== 1 || empty))
    throw invalid(`its git data could not be fetched: ${lastLine(stderr)}`)
  if (before.there === undefined && !empty) throw invalid(NOT_LISTED)
  if (code === 1) throw invalid(`its git data could not be fetched: ${DIVERGED}`)
  if (after === undefined || after.size === size) return report.count('git data', 'found')
  report.count('git data', 'copied')
}

interface Sides {
  /** Undefined when the source does not give them: the fetch says why. */
  readonly there: References | undefined
  readonly here: References
  /** As the last run left them. */
  readonly records: readonly MigrationRecord[]
}

const referencesOf = async (
  { migrationLog }: Migration,
  { git, directory }: NonNullable<Migration['git']>,
  { repository: { id, empty }, key }: CopiedRepository,
  origin: RemoteOrigin,
): Promise<Sides> => ({
  there: await remoteReferences(git, origin).catch(() => undefined),
  here: empty ? new Map() : await localReferences(git, directory, id),
  records: (await migrationLog.list('reference', key)).filter(({ copy }) => copy?.id === id),
})

/** What the fetch overwrites and removes: only what has not changed here since the last run. */
const followed = ({ there, here, records }: Sides) => {
  const unchanged = there === undefined ? [] : records.filter(({ name, digest }) => here.get(name) === digest)
  const names = unchanged.map(({ name }) => name)
  const gone = names.filter((name) => !there?.has(name))
  return {
    overwritten: names.filter((name) => there?.has(name) && there.get(name) !== here.get(name)),
    removed: new Map(gone.map((name) => [name, here.get(name)!])),
  }
}

/** Records the references that this run has changed, and those that are as at the source. */
const saveReferences = async (
  { migrationLog }: Migration,
  { repository: { id }, key: scope }: CopiedRepository,
  { there, here, records }: Sides,
  now: References,
): Promise<void> => {
  const known = new Map(records.map(({ name, digest }) => [name, digest]))
  const fetched = [...now].filter(
    ([name, target]) =>
      name.startsWith('refs/') &&
      name.length <= MAX_NAME &&
      (there?.get(name) === target || here.get(name) !== target) &&
      known.get(name) !== target,
  )
  await migrationLog.save(
    fetched.map(([name, digest]) => ({ kind: 'reference', scope, name, copy: { id }, digest })),
  )
  if (there !== undefined) await migrationLog.remove(records.filter(({ name }) => !there.has(name)))
}

/** Whether the source refuses the git data because of its owner. A Gitea does that also to administrators. */
export const isRefused = (message: string, { owner }: SourceRepository): boolean =>
  !owner.active && /returned error: 403/.test(message)

/** The last line of what git prints says why it failed. */
const lastLine = (stderr: string): string =>
  stderr.split('\n').findLast((line) => line.trim() !== '') ?? 'git was stopped'
