import type { CopyIds, MigrationRecord } from '../../lib/records/schema/index.ts'
import type { NewMigrationRecord } from '../../lib/repositories/migration-log.ts'
import { GRANT_SENTENCES, type Grant } from './grants.ts'
import { type Migration, reportErrors } from './migration.ts'

/**
 * Brings things that exist or not (keys, memberships, rights, stars) up to date with the source:
 * `synchronize` creates and removes them. Members are followed by details.ts.
 *
 * The migration log has a record for each thing that a migration copied, with the ids of its `copy` here and
 * the rights (`grants`) that came with it. The record is saved without a copy before the thing is created,
 * and with it afterwards, so that a later migration completes an interrupted one.
 *
 * Invariant: only things of the migration log are removed or revoked. Things that were created here by other
 * means stay.
 */

/** What the report says of repositories that a team has lost. */
export const REVOKED_FROM_TEAM = 'the team in parentheses no longer has these repositories'

/** Kinds of which the migration log knows only their existence and their rights. */
type Kind = keyof typeof EXISTENCE_LABELS

/**
 * Names of a kind in the report, in the singular and the plural, and the beginning of a sentence that ends
 * with what was revoked.
 */
const EXISTENCE_LABELS = {
  membership: {
    one: 'membership',
    many: 'memberships',
    revoked: 'these users are no longer members of the organization in parentheses, except by its teams',
  },
  sshKey: {
    one: 'SSH key',
    many: 'SSH keys',
    revoked: 'the user in parentheses can no longer use these SSH keys',
  },
  gpgKey: {
    one: 'GPG key',
    many: 'GPG keys',
    revoked: 'the user in parentheses no longer has these GPG keys',
  },
  quotaAssignment: {
    one: 'quota assignment',
    many: 'quota assignments',
    revoked: 'the quota group in parentheses is no longer assigned to these owners',
  },
  quotaRule: { one: 'quota rule', many: 'quota rules', revoked: 'these quota rules do not exist any more' },
  quotaGroup: {
    one: 'quota group',
    many: 'quota groups',
    revoked: 'these quota groups do not exist any more, and limit no owner',
  },
  follow: { one: 'follow', many: 'follows', revoked: 'the user in parentheses no longer follows' },
  star: { one: 'star', many: 'stars', revoked: 'the user in parentheses no longer stars' },
  watch: { one: 'watch', many: 'watches', revoked: 'the user in parentheses no longer watches' },
  team: { one: 'team', many: 'teams', revoked: 'the organization in parentheses no longer has these teams' },
  teamMember: {
    one: 'team membership',
    many: 'team memberships',
    revoked: 'these users are no longer members of the team in parentheses',
  },
  teamRepository: {
    one: 'repository of a team',
    many: 'repositories of teams',
    revoked: REVOKED_FROM_TEAM,
  },
  collaborator: {
    one: 'collaborator',
    many: 'collaborators',
    revoked: 'these users are no longer collaborators of the repository in parentheses',
  },
  hook: {
    one: 'webhook',
    many: 'webhooks',
    revoked: 'the owner in parentheses no longer has these webhooks',
  },
  publicMember: {
    one: 'public membership',
    many: 'public memberships',
    revoked: 'these users are no longer shown as members of the organization in parentheses',
  },
} as const

type Ends = Omit<CopyIds, 'id'>

/** The things of one kind that belong to one account, repository or team, and how they are found here. */
export interface ExistenceSubject {
  kind: Kind
  /** Key in the migration log of the account, the repository or the team that the things belong to. */
  scope: string
  /**
   * What the thing belongs to and leads to, as far as it has these, whether it exists or not; undefined when
   * one of them doesn't exist.
   */
  ends(name: string): Promise<Ends | undefined>
  /** The thing here; undefined when it doesn't exist. */
  find(name: string): Promise<CopyIds | undefined>
  /** @param copy what `find` has returned */
  remove(name: string, copy: CopyIds): Promise<void>
}

/** A thing that the source has, such as a key or a membership. */
export interface SourceItem {
  /** Identifies the thing in every migration. */
  name: string
  /** Its name in the report. */
  label: string
  grants?: string[]
  /** @returns false when it cannot be created; the report then says why */
  create(): Promise<boolean>
}

/**
 * Creates missing things here, and removes those that an earlier migration created and the source no longer
 * has.
 * @param wanted everything that the source has
 */
export const synchronize = async (
  migration: Migration,
  subject: ExistenceSubject,
  wanted: readonly SourceItem[],
): Promise<void> => {
  const known = await migration.migrationLog.list(subject.kind, subject.scope)
  await createMissing(migration, subject, wanted)
  await removeOthers(migration, subject, known, wanted)
}

/** Creates missing things here. A thing that was removed here after it was copied is not created again. */
export const createMissing = async (
  migration: Migration,
  subject: ExistenceSubject,
  wanted: readonly SourceItem[],
): Promise<void> => {
  const { migrationLog } = migration
  const { kind, scope } = subject
  const known = new Map((await migrationLog.list(kind, scope)).map((record) => [record.name, record]))
  const missing: SourceItem[] = []
  for (const item of wanted)
    if (await isToBeCreated(migration, subject, item, known.get(item.name))) missing.push(item)
  await migrationLog.save(missing.map(({ name }) => ({ kind, scope, name, grants: [] })))
  for (const item of missing) await createItem(migration, subject, item)
}

/**
 * Removes copies.
 * @param known all copies that the migration log has
 * @param kept those that stay
 */
export const removeOthers = async (
  migration: Migration,
  subject: ExistenceSubject,
  known: readonly MigrationRecord[],
  kept: readonly Pick<SourceItem, 'name'>[],
): Promise<void> => {
  const names = new Set(kept.map(({ name }) => name))
  for (const record of known) if (!names.has(record.name)) await removeItem(migration, subject, record)
}

/** A name in the report, with what it belongs to. */
const within = (name: string, scope: string): string => (scope === '' ? name : `${name} (${scope})`)

/** Reports a thing that exists here, or that was removed here after it was copied. */
const isToBeCreated = async (
  { migrationLog, report }: Migration,
  subject: ExistenceSubject,
  item: SourceItem,
  before: MigrationRecord | undefined,
): Promise<boolean> => {
  const label = EXISTENCE_LABELS[subject.kind].many
  const copy = await subject.find(item.name)
  if (copy !== undefined) {
    report.count(label, 'found')
    // The migration that created it ended before it could save that.
    if (before !== undefined && before.copy === undefined)
      await migrationLog.save([{ ...before, copy, grants: item.grants ?? [] }])
    return false
  }
  if (before === undefined || !(await wasRemovedHere(subject, before))) return true
  report.note(
    'differs',
    `${label} that were removed here, and stay removed`,
    within(item.label, subject.scope),
  )
  return false
}

/**
 * Whether everything that the thing belonged to and led to still exists. Otherwise it was removed together
 * with one of these.
 */
const wasRemovedHere = async (
  { ends }: ExistenceSubject,
  { name, copy }: MigrationRecord,
): Promise<boolean> => {
  if (copy === undefined) return false
  const existing = await ends(name)
  return existing !== undefined && existing.of === copy.of && existing.to === copy.to
}

const createItem = async (
  { migrationLog, report }: Migration,
  { kind, scope, find }: ExistenceSubject,
  item: SourceItem,
): Promise<void> => {
  const record = { kind, scope, name: item.name, grants: item.grants ?? [] }
  const { one, many } = EXISTENCE_LABELS[kind]
  await reportErrors(report, `the ${one} ${item.label}${scope && ` of ${scope}`}`, async () => {
    if (!(await item.create())) return
    const copy = await find(item.name)
    if (copy === undefined) return
    await migrationLog.save([{ ...record, copy }])
    report.count(many, 'copied')
  })
  // Otherwise a thing that somebody makes here later would be taken for the copy.
  if ((await find(item.name)) === undefined) await migrationLog.remove([record])
}

/** Whether what was found here is the copy that the migration log has. */
export const isCopy = <R extends Pick<MigrationRecord, 'copy'>>(
  record: R | undefined,
  found: CopyIds | undefined,
): record is R => {
  const { copy } = record ?? {}
  if (copy === undefined || found === undefined) return false
  return copy.id === found.id && copy.of === found.of && copy.to === found.to
}

/** Errors end the migration: a right that cannot be revoked must not be recorded as revoked. */
const removeItem = async (
  { migrationLog, report }: Migration,
  { kind, scope, find, remove }: ExistenceSubject,
  record: MigrationRecord,
): Promise<void> => {
  const found = await find(record.name)
  const wasInterrupted = record.copy === undefined
  if (found !== undefined && (wasInterrupted || isCopy(record, found))) {
    await remove(record.name, found)
    if (!wasInterrupted) report.note('revoked', EXISTENCE_LABELS[kind].revoked, within(record.name, scope))
  }
  await migrationLog.remove([record])
}

/** Rights that belong to a record here, such as `administrator` to a user. */
interface GrantSubject<G extends Grant> extends Pick<NewMigrationRecord, 'kind' | 'scope' | 'name'> {
  /** The record here. */
  copy: CopyIds
  /** Its name in the report. */
  label: string
  here: readonly G[]
  source: readonly G[]
}

/**
 * Compares the rights here with those at the source. Revokes a right that was copied and that the source has
 * revoked. A right that was given here stays. A right that the source has in addition is not given.
 * @param revoke revokes rights here
 */
export const synchronizeGrants = async <G extends Grant>(
  { migrationLog, report }: Migration,
  { kind, scope, name, copy, label, here, source }: GrantSubject<G>,
  revoke: (grants: readonly G[]) => Promise<unknown>,
): Promise<void> => {
  const known = await migrationLog.get(kind, scope, name)
  const copied = copiedGrants(known, copy, here)
  const additional = here.filter((grant) => !source.includes(grant))
  const revoked = additional.filter((grant) => copied.includes(grant))
  if (revoked.length > 0) {
    await revoke(revoked)
    for (const grant of revoked) report.note('revoked', GRANT_SENTENCES[grant].revoked, label)
  }
  if (known !== undefined && (copied.length > 0 || known.copy === undefined)) {
    const grants = source.filter((grant) => copied.includes(grant))
    await migrationLog.save([{ ...known, copy: known.copy ?? copy, grants }])
  }
  for (const grant of additional)
    if (!copied.includes(grant)) report.note('differs', GRANT_SENTENCES[grant].onlyHere, label)
  for (const grant of source)
    if (!here.includes(grant)) report.note('differs', GRANT_SENTENCES[grant].onlyAtSource, label)
}

/** A migration that was interrupted after it created the record has copied everything that the record has. */
const copiedGrants = (
  known: MigrationRecord | undefined,
  copy: CopyIds,
  here: readonly string[],
): readonly string[] => {
  if (known === undefined) return []
  if (known.copy === undefined) return here
  return isCopy(known, copy) ? known.grants : []
}
