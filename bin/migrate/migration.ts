import type { OpenAllot } from '../../lib/allot.ts'
import { AllotError, type ErrorCode } from '../../lib/errors.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import type { MigratedRecords } from '../../lib/repositories/migrated.ts'
import { escapeControl, withProgressBar } from '../terminal.ts'
import { type Source, SourceError, type SourceRepository } from './source.ts'

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

/** Undefined when the source doesn't have it, or doesn't show it. */
export const ifAvailable = async <T>(response: Promise<T>): Promise<T | undefined> => {
  try {
    return await response
  } catch (error) {
    if (error instanceof SourceError && [403, 404, 405].includes(error.status)) return undefined
    throw error
  }
}

/** Path at the source, from names that may contain any character. */
export const apiPath = (...segments: string[]): string =>
  segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')

/** Sections of the report that list names, by what their entries are. */
const SECTIONS = {
  /** Cannot be copied. */
  notCopied: 'not copied',
  /** Rights that Allot cannot express. */
  leftOut: 'rights left out',
  /** The source revoked them after an earlier migration had copied them. */
  revoked: 'revoked, because the source revoked it',
  /** Differ from the source, and stay unchanged. */
  differs: 'different here, and left unchanged',
}
type Section = keyof typeof SECTIONS

/** Names in the section `notCopied`, which may be long; further ones are only counted. */
const MAX_NAMES = 10

/** What a migration did, and what it could not do. */
export class Report {
  readonly #counts = new Map<string, { copied: number; found: number }>()
  readonly #entries = new Map<Section, Map<string, Set<string>>>()
  readonly #failures: string[] = []

  /**
   * @param kind such as `users`
   * @param outcome `found` when it already existed here
   */
  count(kind: string, outcome: 'copied' | 'found'): void {
    const counts = this.#counts.get(kind) ?? { copied: 0, found: 0 }
    counts[outcome]++
    this.#counts.set(kind, counts)
  }

  /** @param name whose it is */
  note(section: Section, what: string, name: string): void {
    const entries = this.#entries.get(section) ?? new Map<string, Set<string>>()
    this.#entries.set(section, entries)
    entries.set(what, (entries.get(what) ?? new Set()).add(name))
  }

  /** Notes something that should have been copied. */
  failed(what: string, reason: string): void {
    this.#failures.push(`${what}: ${reason}`)
  }

  /** Whether nothing failed. */
  isComplete(): boolean {
    return this.#failures.length === 0
  }

  lines(): string[] {
    const counts = [...this.#counts].map(
      ([kind, { copied, found }]) => `${kind}: ${copied} copied, ${found} already there`,
    )
    const sections = (Object.keys(SECTIONS) as Section[]).flatMap((section) =>
      titled(SECTIONS[section], this.#linesOf(section)),
    )
    return [...counts, ...sections, ...titled('failed', this.#failures)].map(escapeControl)
  }

  #linesOf(section: Section): string[] {
    const maxNames = section === 'notCopied' ? MAX_NAMES : Number.POSITIVE_INFINITY
    return [...(this.#entries.get(section) ?? [])].map(([what, names]) => {
      const more = names.size > maxNames ? ` and ${names.size - maxNames} more` : ''
      return `${what}: ${[...names].slice(0, maxNames).join(', ')}${more}`
    })
  }
}

const titled = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]
