import { open, stat, writeFile } from 'node:fs/promises'
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
  /** The source revoked them after an earlier migration had copied them. */
  revoked: 'revoked, because the source revoked it',
  /** Content that the source has removed after an earlier migration had copied it. */
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
    const sections = (Object.keys(SECTIONS) as Section[]).flatMap((section) =>
      titled(SECTIONS[section], this.#linesOf(section)),
    )
    return [...counts, ...sections, ...titled('failed', this.failures)].map(escapeControl)
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

/** How each report begins. */
const BEGINNING = /^\{\n {2}"(?:counts|compared)": \{/

/** What a command fills, and what the file of `--report` has. */
interface WrittenReport {
  /** Notes what failed. */
  failed(what: string, reason: string): void
  toJSON(): object
}

/**
 * Runs a command that fills a report, and then writes the report to the file of `--report`. When the command
 * fails, the report says so, too. The file may be the report of an earlier run, which is replaced, and no
 * other file. Only its owner may read it.
 * @param file undefined: nothing is written
 * @param what the command in the report
 * @throws Error before the command runs when the file cannot be written, or is not a report
 */
export const withReportFile = async (
  file: string | undefined,
  report: WrittenReport,
  what: string,
  body: () => Promise<void>,
): Promise<void> => {
  if (file === undefined) return body()
  await checkReportFile(file)
  try {
    await body()
  } catch (error) {
    report.failed(what, withReason(error as Error))
    // The error of the command says more than one of its file.
    await writeReport(file, report).catch(() => undefined)
    throw error
  }
  await writeReport(file, report)
}

const cannotWrite = (file: string, reason: string): Error =>
  new Error(`the report ${file} cannot be written: ${reason}`)

const checkReportFile = async (file: string): Promise<void> => {
  const existing = await stat(file).catch(() => undefined)
  // A pipe or a terminal has no beginning that could be read.
  if (existing !== undefined && !existing.isFile() && !existing.isDirectory()) return
  const failed = (cause: Error): never => {
    throw cannotWrite(file, writeFault(cause))
  }
  const created = await open(file, 'wx+', 0o600).catch((cause: NodeJS.ErrnoException) =>
    cause.code === 'EEXIST' ? undefined : failed(cause),
  )
  const handle = created ?? (await open(file, 'r+').catch(failed))
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(32), 0, 32, null).catch(failed)
    if (bytesRead > 0 && !BEGINNING.test(buffer.toString('latin1')))
      throw cannotWrite(file, 'the file exists, and is not a report: name another one')
    await handle.chmod(0o600).catch(failed)
  } finally {
    await handle.close()
  }
}

const writeReport = async (file: string, report: WrittenReport): Promise<void> => {
  await writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`).catch((cause: Error) => {
    throw cannotWrite(file, writeFault(cause))
  })
}
