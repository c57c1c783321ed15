import { open } from 'node:fs/promises'
import { withReason, writeFault } from '../errors.ts'
import { escapeControl } from '../terminal.ts'

/** Sections of the report that list names, by what their entries are. */
export const SECTIONS = {
  /** Names that differ, since they were chosen or changed. */
  renamed: 'with another name here',
  /** Cannot be copied. */
  notCopied: 'not copied',
  /** Rights that Allot cannot express. */
  leftOut: 'rights left out',
  /** Changed or removed in the copy. */
  overwritten: 'overwritten with what the source has',
  /** Rights that the source has withdrawn after an earlier migration had copied them. */
  revoked: 'revoked, because the source revoked it',
  /** What the source has removed after an earlier migration had copied it. */
  removed: 'removed, because the source removed it',
  /** Differ from the source, and stay unchanged. */
  differs: 'different here, and left unchanged',
}
export type Section = keyof typeof SECTIONS

/**
 * Names in the section `notCopied`, and in others; further ones are only counted, and in the file of
 * `--report`.
 */
const [MAX_NAMES, MAX_IMPORTANT_NAMES] = [10, 100]

type Outcome = 'copied' | 'found' | 'updated'

/** The results of a migration: counts, and notes of what differs or could not be copied. */
export class Report {
  protected readonly counts = new Map<string, Record<Outcome, number>>()
  protected readonly entries = new Map<Section, Map<string, Set<string>>>()
  protected readonly failures: string[] = []

  /**
   * @param kind such as `users`
   * @param outcome `found` when it already existed here, `updated` when the source had changed since
   */
  count(kind: string, outcome: Outcome): void {
    const counts = this.counts.get(kind) ?? { copied: 0, found: 0, updated: 0 }
    counts[outcome]++
    this.counts.set(kind, counts)
  }

  /** @param name whose it is */
  note(section: Section, what: string, name: string): void {
    const entries = this.entries.get(section) ?? new Map<string, Set<string>>()
    this.entries.set(section, entries)
    entries.set(what, (entries.get(what) ?? new Set()).add(name))
  }

  /**
   * Notes an account or a repository whose name here is another one than at the source.
   * @param kind such as `repositories`
   */
  noteName(kind: string, there: string, here: string): void {
    if (here.toLowerCase() !== there.toLowerCase()) this.note('renamed', kind, `${there} is ${here}`)
  }

  /** Notes something that should have been copied. */
  failed(what: string, reason: string): void {
    this.failures.push(`${what}: ${reason}`)
  }

  /** Whether nothing failed. */
  isComplete(): boolean {
    return this.failures.length === 0
  }

  lines(): string[] {
    const counts = [...this.counts].map(
      ([kind, { copied, found, updated }]) =>
        `${kind}: ${copied} copied, ${found} already there${updated > 0 ? `, ${updated} updated` : ''}`,
    )
    return [...counts, ...this.sections(), ...titled('failed', this.failures)].map(escapeControl)
  }

  protected sections(): string[] {
    const all = Object.keys(SECTIONS) as Section[]
    return all.flatMap((section) => titled(SECTIONS[section], this.#linesOf(section)))
  }

  /** Everything with all names, for programs. */
  toJSON(): object {
    const sections = (Object.keys(SECTIONS) as Section[]).map((section) => {
      const entries = [...(this.entries.get(section) ?? [])].map(([what, names]) => [what, [...names]])
      return [section, Object.fromEntries(entries)]
    })
    return {
      counts: Object.fromEntries(this.counts),
      ...Object.fromEntries(sections),
      failed: [...this.failures],
    }
  }

  #linesOf(section: Section): string[] {
    const maxNames = section === 'notCopied' ? MAX_NAMES : MAX_IMPORTANT_NAMES
    return [...(this.entries.get(section) ?? [])].map(([what, names]) => {
      const more = names.size > maxNames ? ` and ${names.size - maxNames} more` : ''
      return `${what}: ${[...names].slice(0, maxNames).join(', ')}${more}`
    })
  }
}

/** Lines below a title; none without lines. */
export const titled = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]

/** What a command fills, and what the file of `--report` has. */
interface WrittenReport {
  /** Notes what failed. */
  failed(what: string, reason: string): void
  toJSON(): object
}

/**
 * Runs a command that fills a report, and then writes the report to the file of `--report`. When the command
 * fails, the report says so, too. A file that exists is replaced. Only its owner may read it.
 * @param file undefined: nothing is written
 * @param what the command in the report
 * @throws Error before the command runs when the file cannot be written
 */
export const withReportFile = async (
  file: string | undefined,
  report: WrittenReport,
  what: string,
  body: () => Promise<void>,
): Promise<void> => {
  if (file === undefined) return body()
  const write = (text: string) =>
    open(file, 'w', 0o600)
      .then(async (handle) => {
        if ((await handle.stat()).isFile()) await handle.chmod(0o600)
        await handle.writeFile(text).finally(() => handle.close())
      })
      .catch((cause: Error) => {
        throw new Error(`the report ${file} cannot be written: ${writeFault(cause)}`)
      })
  const writeReport = () => write(`${JSON.stringify(report, undefined, 2)}\n`)
  await write('')
  try {
    await body()
  } catch (error) {
    report.failed(what, withReason(error as Error))
    // The error of the command says more than one of its file.
    await writeReport().catch(() => undefined)
    throw error
  }
  await writeReport()
}
