import type { OpenAllot } from '../../lib/allot.ts'
import { AllotError, type ErrorCode } from '../../lib/errors.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import type { MigratedRecords } from '../../lib/repositories/migrated.ts'
import { withProgressBar } from '../terminal/progress.ts'
import type { Report } from './report.ts'
import { type Source, SourceError } from './source.ts'
import type { SourceRepository } from './source-types.ts'

/** From where to where a migration copies. */
export interface MigrationOptions {
  readonly source: Source
  readonly allot: OpenAllot
  readonly report: Report
  /** Where git data is stored; undefined when repositories are turned off. `maxPushSize`: bytes that one push may have. */
  readonly git: { directory: string; git: string; maxPushSize: number | undefined } | undefined
}

/** What all parts of a migration share. */
export interface Migration extends MigrationOptions {
  /** What was copied from this source, by this and earlier migrations. */
  readonly history: MigratedRecords
  /** Repositories of the organizations whose members were copied, by the name of the organization in lower case. */
  readonly repositories: Map<string, readonly SourceRepository[]>
}

/** A viewer that sees and may change everything. @param id the account in whose name it acts */
export const asOperator = (id: number) => ({ id, admin: true })

/** Errors that concern only one thing: the migration reports them and continues. */
const REPORTED: readonly ErrorCode[] = ['invalid', 'conflict', 'not_found', 'forbidden', 'too_large']

export const reportErrors = async (
  report: Report,
  what: string,
  work: () => Promise<void>,
): Promise<void> => {
  try {
    await work()
  } catch (error) {
    const isReported =
      error instanceof SourceError || (error instanceof AllotError && REPORTED.includes(error.code))
    if (!isReported) throw error
    report.failed(what, error.message)
  }
}

/** Works on a user who exists here; does nothing for one who doesn't. */
export const forUserHere = (
  { allot, report }: Migration,
  what: string,
  login: string,
  work: (user: Account) => Promise<void>,
): Promise<void> =>
  reportErrors(report, what, async () => {
    const account = await allot.hosting.accounts.byName(login)
    if (account?.kind === 'user') await work(account)
  })

/** Calls `work` for one item after another, and shows the progress. */
export const each = <T>(
  label: string,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> =>
  withProgressBar(
    label,
    async (onProgress) => {
      for (const [index, item] of items.entries()) {
        onProgress({ done: index, total: items.length })
        await work(item)
      }
    },
    '{bar} {value} of {total}',
  )

export const collect = async <T>(list: AsyncIterable<T>): Promise<T[]> => {
  const items: T[] = []
  for await (const item of list) items.push(item)
  return items
}

/** Undefined when the source doesn't have it, or doesn't show it. */
export const ifAvailable = async <T>(response: Promise<T>): Promise<T | undefined> => {
  try {
    return await response
  } catch (error) {
    if (error instanceof SourceError && [403, 404, 405].includes(error.status)) return undefined
    throw error
  }
}

/** Path of a user, or of one of the user's lists, in the API of the source. */
export const userPath = (name: string, list?: string): string =>
  `/users/${encodeURIComponent(name)}${list === undefined ? '' : `/${list}`}`

export const organizationPath = (name: string, list?: string): string =>
  `/orgs/${encodeURIComponent(name)}${list === undefined ? '' : `/${list}`}`

export const repositoryPath = (
  { owner, name }: Pick<SourceRepository, 'owner' | 'name'>,
  list?: string,
): string =>
  `/repos/${encodeURIComponent(owner.login)}/${encodeURIComponent(name)}${list === undefined ? '' : `/${list}`}`
