import { createHash } from 'node:crypto'
import type { MigrationRecord } from '../../lib/records/schema/index.ts'
import type { NewMigrationRecord } from '../../lib/repositories/migration-log.ts'
import type { Migration } from './migration.ts'

/**
 * Follows members: of accounts, repositories, teams, webhooks and the quota by `followDetails`, of contents
 * by content/copied-content.ts. The migration log has a digest of the value that both sides had in common
 * last.
 */

export type Values = Readonly<Record<string, unknown>>

export const digestOf = (values: object): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('hex')

interface Members {
  /** Those that differ, and were changed only at the source. */
  readonly changed: readonly string[]
  /** Those that differ otherwise. They stay as they are here. */
  readonly kept: readonly string[]
  /** Those of `kept` that the source has changed, too. */
  readonly onBothSides: readonly string[]
  /** For the migration log. */
  readonly digests: NonNullable<MigrationRecord['digests']>
}

/**
 * Tells which side has changed each member of a copy since both sides had the same value. A member without a
 * digest counts as changed here when the source is known to be unchanged, and as changed at the source
 * otherwise.
 * @param isUnchanged whether the source is known to have changed nothing since the last run
 */
export const compareMembers = (
  before: Pick<MigrationRecord, 'digests'> | undefined,
  here: Values,
  source: Values,
  isUnchanged: boolean,
): Members => {
  const digests = new Map(before?.digests?.map(({ member, digest }) => [member, digest]))
  const [changed, kept, onBothSides]: [string[], string[], string[]] = [[], [], []]
  for (const member of Object.keys(source)) {
    const [own, there] = [memberDigest(here[member]), memberDigest(source[member])]
    const common = digests.get(member) ?? (isUnchanged ? there : own)
    const isKept = own !== there && common !== own
    digests.set(member, isKept ? common : there)
    if (isKept) {
      kept.push(member)
      if (common !== there) onBothSides.push(member)
    } else if (own !== there) changed.push(member)
  }
  return { changed, kept, onBothSides, digests: [...digests].map(([member, digest]) => ({ member, digest })) }
}

/**
 * Whether a member of a copy may have another value than both sides had in common last. That cannot be told
 * of a copy without digests: the migration that created it ended before it could save them.
 */
export const wasChangedHere = ({ digests }: Pick<MigrationRecord, 'digests'>, here: Values): boolean =>
  digests === undefined || digests.some(({ member, digest }) => memberDigest(here[member]) !== digest)

const memberDigest = (value: unknown): string => digestOf([value]).slice(0, 16)

/**
 * What the report says of each member that differs: beginnings of sentences that end with the names of what
 * has the member.
 */
const DIFFERENT = {
  allRepositories: 'these teams are for all repositories on one side only',
  branchFilter: 'the branches of these webhooks differ from those at the source',
  canCreate: 'the members of these teams may create repositories on one side only',
  contentType: 'the content type of these webhooks differs from that at the source',
  defaultBranch: 'the default branch differs from that at the source',
  description: 'the description differs from that at the source',
  events: 'the events of these webhooks differ from those at the source',
  fullName: 'the full name differs from that at the source',
  limit: 'the limit of these quota rules differs from that at the source',
  level: 'the rights of these teams differ from those at the source',
  location: 'the location differs from that at the source',
  name: 'the name differs from that at the source',
  rules: 'the rules of these quota groups differ from those at the source',
  subjects: 'the subjects of these quota rules differ from those at the source',
  topics: 'the topics differ from those at the source',
  units: 'the rights of these teams by unit differ from those at the source',
  url: 'the URL of these webhooks differs from that at the source',
  website: 'the website differs from that at the source',
} as const

type Details = { readonly [Member in keyof typeof DIFFERENT]?: unknown }
/** Has no member without a text in `DIFFERENT`. */
export type OnlyDetails<T> = Details & { readonly [Member in Exclude<keyof T, keyof Details>]: never }

/** Members of a record here, such as the description of a repository. */
interface DetailsSubject<T> extends Pick<NewMigrationRecord, 'kind' | 'scope' | 'name'> {
  /** Its name in the report. */
  label: string
  here: Readonly<Record<keyof T, unknown>>
  /** Those that the source shows. */
  source: T
}

/**
 * Changes each detail that only the source has changed since an earlier migration. Those that were changed
 * here, or on both sides, stay, and are reported.
 * @param change gives the record these details of the source
 */
export const followDetails = async <T extends OnlyDetails<T>>(
  { migrationLog, report }: Migration,
  { kind, scope, name, label, here, source }: DetailsSubject<T>,
  change: (details: Partial<T>) => Promise<unknown>,
): Promise<void> => {
  const known = await migrationLog.get(kind, scope, name)
  const digest = digestOf(source)
  const { changed, kept, digests } = compareMembers(known, here, source, known?.digest === digest)
  const isReportedOnly = known === undefined
  for (const member of isReportedOnly ? [...changed, ...kept] : kept)
    report.note('differs', DIFFERENT[member as keyof Details], label)
  if (isReportedOnly) return
  const followed = Object.entries(source).filter(([member]) => changed.includes(member))
  if (followed.length > 0) await change(Object.fromEntries(followed) as Partial<T>)
  if (known.digest !== digest || JSON.stringify(digests) !== JSON.stringify(known.digests))
    await migrationLog.save([{ ...known, digest, digests }])
}
