import type { Allot } from '../../lib/allot.ts'
import { AllotError, type ErrorCode } from '../../lib/errors.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import type { MigratedRecords } from '../../lib/repositories/migrated.ts'
import { withProgressBar } from '../terminal/progress.ts'
import type { Report } from './report.ts'
import { type Source, SourceError } from './source.ts'
import type { SourceRepository } from './source-types.ts'

/** What a run is given: from where to where. */
export interface Given {
  readonly source: Source
  readonly allot: Allot
  readonly report: Report
  /** Where git data goes; undefined when the host keeps it elsewhere. */
  readonly git: { directory: string; git: string; largest: number | undefined } | undefined
}

export interface Migration extends Given {
  /** What was copied from this source, in this run and earlier ones. */
  readonly history: MigratedRecords
  /** Repositories of the organizations whose members are settled, by the organization's name in lower case. */
  readonly repositories: Map<string, readonly SourceRepository[]>
}

/** Nothing that is copied is hidden from whoever has the store itself at hand. */
export const asOperator = (id: number) => ({ id, admin: true })

/** One thing that is not taken, or not given, keeps nothing else from coming. */
const OF_ONE: readonly ErrorCode[] = ['invalid', 'conflict', 'not_found', 'forbidden', 'too_large']

export const reportErrors = async (
  report: Report,
  what: string,
  work: () => Promise<void>,
): Promise<void> => {
  try {
    await work()
  } catch (error) {
    const isOfOne =
      error instanceof SourceError || (error instanceof AllotError && OF_ONE.includes(error.code))
    if (!isOfOne) throw error
    report.failed(what, error.message)
  }
}

/** What somebody has, for users who are here. */
export const reportErrorsFor = (
  { allot, report }: Migration,
  what: string,
  login: string,
  work: (user: Account) => Promise<void>,
): Promise<void> =>
  reportErrors(report, what, async () => {
    const account = await allot.hosting.accounts.byName(login)
    if (account?.kind === 'user') await work(account)
  })

/** Where the source has a list of what a user has. */
export const pathOf = (name: string, list: string): string => `/users/${encodeURIComponent(name)}/${list}`

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
  const all: T[] = []
  for await (const one of list) all.push(one)
  return all
}

/** What the source does not have, or does not tell, is undefined. */
export const ifAvailable = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (error instanceof SourceError && [403, 404, 405].includes(error.status)) return undefined
    throw error
  }
}
