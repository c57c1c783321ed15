import type { Migrated } from '../../lib/records/schema/index.ts'
import { type Migration, reportErrors } from './migration.ts'

type Kind = Exclude<Migrated['kind'], 'account' | 'repository'>

/** As the report names one and many of a kind. */
const WORDS: Readonly<Record<Kind, [one: string, many: string]>> = {
  membership: ['membership', 'memberships'],
  sshKey: ['SSH key', 'SSH keys'],
  gpgKey: ['GPG key', 'GPG keys'],
  follow: ['follow', 'follows'],
  star: ['star', 'stars'],
  watch: ['watch', 'watches'],
}

/** Things of one kind that belong to one account or organization. */
export interface Things {
  kind: Kind
  /** The account or organization, in lower case. */
  scope: string
  /** Ids of the records here that a thing is made of, whether it is here or not; undefined when one of them is missing. */
  parts(name: string): Promise<number[] | undefined>
  /** The parts, and the thing's own id where it has one; undefined when it is not here. */
  find(name: string): Promise<number[] | undefined>
  remove(name: string, ids: readonly number[]): Promise<void>
}

/** What the source has. */
export interface Wanted {
  /** The same name for the same thing in every run. */
  name: string
  /** As the report names the thing. */
  label: string
  grants?: string[]
  /** @returns false when it cannot come, which is then in the report already */
  bring(): Promise<boolean>
}

/**
 * Makes things here follow the source. What is missing here is brought; what was brought earlier and is no longer at the
 * source is removed; what was made here stays. What was brought and then removed here is not brought again.
 * @param isComplete whether `wanted` is all that the source has: otherwise nothing is removed
 */
export const follow = async (
  migration: Migration,
  things: Things,
  wanted: readonly Wanted[],
  isComplete = true,
): Promise<void> => {
  const { history, report } = migration
  const { kind, scope } = things
  const [, words] = WORDS[kind]
  const known = new Map((await history.list(kind, scope)).map((one) => [one.name, one]))
  const missing: Wanted[] = []
  for (const one of wanted) {
    const [before, ids] = [known.get(one.name), await things.find(one.name)]
    if (ids !== undefined) {
      report.found(words)
      // The run that brought it ended before it noted that.
      if (before?.ids.length === 0) await history.save([{ ...before, ids, grants: one.grants ?? [] }])
    } else if (before !== undefined && (await wasRemovedHere(things, before)))
      report.differs(`${words} that were removed here, and stay removed`, `${one.label} (${scope})`)
    else missing.push(one)
  }
  await history.save(missing.map(({ name }) => ({ kind, scope, name, ids: [], grants: [] })))
  for (const one of missing) await bring(migration, things, one)
  if (isComplete)
    await takeBack(migration, things, new Set(wanted.map(({ name }) => name)), [...known.values()])
}

const wasRemovedHere = async ({ parts }: Things, { name, ids }: Migrated): Promise<boolean> => {
  if (ids.length === 0) return false
  const now = await parts(name)
  return now?.every((id, index) => id === ids[index]) === true
}

const bring = (migration: Migration, { kind, scope, find }: Things, one: Wanted): Promise<void> =>
  reportErrors(migration.report, `the ${WORDS[kind][0]} ${one.label} of ${scope}`, async () => {
    if (!(await one.bring())) return
    const ids = await find(one.name)
    if (ids === undefined) return
    await migration.history.save([{ kind, scope, name: one.name, ids, grants: one.grants ?? [] }])
    migration.report.copied(WORDS[kind][1])
  })

/** Fails as a whole: a right that cannot be taken back must not be taken for one that was. */
const takeBack = async (
  { history, report }: Migration,
  { kind, scope, find, remove }: Things,
  wanted: ReadonlySet<string>,
  known: readonly Migrated[],
): Promise<void> => {
  for (const one of known.filter(({ name }) => !wanted.has(name))) {
    const ids = await find(one.name)
    const isUnnoted = one.ids.length === 0
    if (ids !== undefined && (isUnnoted || String(ids) === String(one.ids))) {
      await remove(one.name, ids)
      if (!isUnnoted) report.tookBack(WORDS[kind][1], `${one.name} (${scope})`)
    }
    await history.remove([one])
  }
}
