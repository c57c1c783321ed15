import type { OpenAllot } from '../../lib/allot.ts'
import type { MigratedContent } from '../../lib/content/migrated-content.ts'
import type { MigratedPackages } from '../../lib/content/packages/migrated-packages.ts'
import { AllotError, type ErrorCode } from '../../lib/errors.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import type { MigrationLog } from '../../lib/repositories/migration-log.ts'
import { withProgressBar } from '../terminal.ts'
import type { Authors } from './content/authors.ts'
import type { Kind } from './labels.ts'
import type { Names, Renames } from './names/index.ts'
import type { Report } from './report.ts'
import type { OwnedRepository } from './shapes.ts'
import { type Source, SourceError } from './source.ts'
import type { TeamRights } from './teams/rights.ts'
import type { Comparison } from './verify/comparison.ts'

export { OPERATOR, withAdminRights } from '../../lib/accounts/access.ts'
export { apiPath } from './source.ts'

/** Receives the credentials of users. */
export interface CredentialsSink {
  /** @param line with the link as a path of the page on which the user sets a password, or as its URL */
  add(line: { name: string; token: string; link: string }): Promise<void>
}

/** From where to where a migration copies. */
export interface MigrationOptions {
  readonly source: Source
  readonly allot: OpenAllot
  readonly report: Report
  /** Of `allot migrate verify`, which compares and changes nothing; it is the report, too. */
  readonly comparison?: Comparison
  /** Where git data is stored; undefined when repositories are turned off. */
  readonly git: { directory: string; git: string } | undefined
  /** Whether this is the last run from the source, as long as nothing fails. */
  readonly finish?: boolean
  /** Names to have here, by the name at the source. */
  readonly renames?: Renames
  /** Gets a token and a link for each user who cannot sign in yet. */
  readonly credentials?: CredentialsSink | undefined
  /** Address of this server, where it is configured. */
  readonly baseUrl?: string | undefined
  /**
   * Groups of owners without a group of their own, where they are configured: they are in use without an
   * assignment.
   */
  readonly defaultGroups?: readonly string[] | undefined
}

/** Shared by all parts of a migration. */
export interface Migration extends MigrationOptions {
  /** The copies from this source, of this and earlier migrations. */
  readonly migrationLog: MigrationLog
  readonly content: MigratedContent
  readonly packages: MigratedPackages
  readonly authors: Authors
  readonly names: Names
  /** When the migration began, in seconds since 1970: the date of contents without a date at the source. */
  readonly startedAt: number
  /**
   * Repositories of the users, and of the organizations whose members were copied: otherwise members here
   * could do more than at the source.
   */
  readonly found: OwnedRepository[]
  /** Keys of the owners whose repositories were all found. */
  readonly listed: Set<string>
  /** Teams of organizations by their names in lower case, that of the owners included. */
  readonly teams: Map<string, readonly TeamRights[]>
  /** Gives members and teams their rights, once the rights of all others are withdrawn. */
  readonly giving: (() => Promise<void>)[]
  /** What the source shows or permits since an earlier run, which is given at the end. */
  readonly widening: Widening[]
}

interface Widening {
  readonly kind: Kind
  readonly label: string
  run(): Promise<void>
}

/** Errors that concern only one thing: the migration reports them and continues. */
const REPORTED: readonly ErrorCode[] = ['invalid', 'conflict', 'not_found', 'forbidden', 'too_large']

/** @returns whether the work succeeded */
export const succeeds = async (
  report: Pick<Report, 'failed'>,
  what: string,
  work: () => Promise<void>,
): Promise<boolean> => {
  try {
    await work()
    return true
  } catch (error) {
    const isReported =
      error instanceof SourceError || (error instanceof AllotError && REPORTED.includes(error.code))
    if (!isReported) throw error
    report.failed(what, error.message)
    return false
  }
}

export const reportErrors = async (
  report: Pick<Report, 'failed'>,
  what: string,
  work: () => Promise<void>,
): Promise<void> => void (await succeeds(report, what, work))

/**
 * Works on a user who exists here; does nothing for one who doesn't.
 * @param login the name at the source
 */
export const forUserHere = (
  { names, report }: Migration,
  what: string,
  login: string,
  work: (user: Account) => Promise<void>,
): Promise<void> =>
  reportErrors(report, what, async () => {
    const account = await names.accountOf(login)
    if (account?.kind === 'user') await work(account)
  })

/** Items that are copied at the same time, where that is possible. */
const CONCURRENCY = 4

/**
 * Calls `work` for the items in their order, one after another or several at a time, and shows the progress.
 */
export const each = <T>(
  label: string,
  items: readonly T[],
  work: (item: T) => Promise<void>,
  concurrency = 1,
): Promise<void> =>
  withProgressBar(
    label,
    async (onProgress) => {
      const [queue, total] = [items.values(), items.length]
      let [done, hasFailed] = [0, false]
      const worker = async () => {
        for (const item of queue) {
          if (hasFailed) return
          onProgress({ done, total })
          await work(item)
          done++
        }
      }
      const workers = Array.from({ length: concurrency }, () =>
        worker().catch((error) => {
          hasFailed = true
          throw error
        }),
      )
      // Nothing may still be written when the caller reports the error.
      const outcomes = await Promise.allSettled(workers)
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    },
    '{bar} {value} of {total}',
  )

/** The same for several items at a time. */
export const eachOfSeveral = <T>(
  label: string,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> => each(label, items, work, CONCURRENCY)

/** Undefined when the source doesn't have it, or doesn't show it. */
export const ifAvailable = async <T>(response: Promise<T>): Promise<T | undefined> => {
  try {
    return await response
  } catch (error) {
    if (error instanceof SourceError && [403, 404, 405].includes(error.status)) return undefined
    throw error
  }
}

/**
 * A list can lack something that exists, when another item was deleted between two of its pages: so ask
 * again.
 */
export const isDeleted = async ({ source }: Migration, path: string): Promise<boolean> =>
  !(await source.has(path))
