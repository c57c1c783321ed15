import { plain } from '../print.ts'

/** What a migration came to. */
export interface Report {
  /** @param kind such as `users` */
  copied(kind: string): void
  /** It was there already, and stays as it is. */
  found(kind: string): void
  /** What cannot come along, and on whom that falls. */
  behind(what: string, whom: string): void
  /** What should have come, and did not. */
  failed(what: string, why: string): void
  /** Whether everything came that can. */
  isWhole(): boolean
  lines(): string[]
}

/** Names that are written out; of more, how many there are. */
const NAMED = 10

export const createReport = (): Report => {
  const counts = new Map<string, { copied: number; found: number }>()
  const behind = new Map<string, Set<string>>()
  const failures: string[] = []
  const countOf = (kind: string) => {
    const count = counts.get(kind) ?? { copied: 0, found: 0 }
    counts.set(kind, count)
    return count
  }

  return {
    copied: (kind) => void countOf(kind).copied++,
    found: (kind) => void countOf(kind).found++,
    behind: (what, whom) => void behind.set(what, (behind.get(what) ?? new Set()).add(whom)),
    failed: (what, why) => void failures.push(`${what}: ${why}`),
    isWhole: () => failures.length === 0,
    lines: () =>
      [
        ...[...counts].map(
          ([kind, { copied, found }]) => `${kind}: ${copied} copied, ${found} there already`,
        ),
        ...section(
          'stayed behind',
          [...behind].map(([what, whom]) => `${what}: ${named([...whom])}`),
        ),
        ...section('failed', failures),
      ].map(plain),
  }
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]

const named = (whom: readonly string[]): string => {
  const more = whom.length - NAMED
  return more <= 0 ? whom.join(', ') : `${whom.slice(0, NAMED).join(', ')} and ${more} more`
}
