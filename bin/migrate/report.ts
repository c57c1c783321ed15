import { escapeControl } from '../terminal/print.ts'

/** What a migration came to. */
export interface Report {
  /** @param kind such as `users` */
  copied(kind: string): void
  /** It was there already, and stays as it is. */
  found(kind: string): void
  /** What cannot come along, and on whom that falls. */
  behind(what: string, whom: string): void
  /** A right that cannot be said here. Each of them is named. */
  leftOut(what: string, whom: string): void
  /** It was withdrawn at the source since an earlier run. */
  tookBack(what: string, whom: string): void
  /** It is not the same here as at the source, and stays so. */
  differs(what: string, whom: string): void
  /** What should have come, and did not. */
  failed(what: string, why: string): void
  /** Whether everything came that can. */
  isComplete(): boolean
  lines(): string[]
}

/** Names that are written out; of more, how many there are. */
const NAMED = 10

export const createReport = (): Report => {
  const counts = new Map<string, { copied: number; found: number }>()
  const listed = () => new Map<string, Set<string>>()
  const [behind, leftOut, tookBack, differing] = [listed(), listed(), listed(), listed()]
  const into = (list: Map<string, Set<string>>) => (what: string, whom: string) =>
    void list.set(what, (list.get(what) ?? new Set()).add(whom))
  const failures: string[] = []
  const countOf = (kind: string) => {
    const count = counts.get(kind) ?? { copied: 0, found: 0 }
    counts.set(kind, count)
    return count
  }

  return {
    copied: (kind) => void countOf(kind).copied++,
    found: (kind) => void countOf(kind).found++,
    behind: into(behind),
    leftOut: into(leftOut),
    tookBack: into(tookBack),
    differs: into(differing),
    failed: (what, why) => void failures.push(`${what}: ${why}`),
    isComplete: () => failures.length === 0,
    lines: () =>
      [
        ...[...counts].map(
          ([kind, { copied, found }]) => `${kind}: ${copied} copied, ${found} there already`,
        ),
        ...section(
          'stayed behind',
          [...behind].map(([what, whom]) => `${what}: ${named([...whom])}`),
        ),
        ...section('rights left out', linesOf(leftOut)),
        ...section('taken back, because the source withdrew it', linesOf(tookBack)),
        ...section('different here, and left as it is', linesOf(differing)),
        ...section('failed', failures),
      ].map(escapeControl),
  }
}

const linesOf = (list: ReadonlyMap<string, ReadonlySet<string>>): string[] =>
  [...list].map(([what, whom]) => `${what}: ${[...whom].join(', ')}`)

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]

const named = (whom: readonly string[]): string => {
  const more = whom.length - NAMED
  return more <= 0 ? whom.join(', ') : `${whom.slice(0, NAMED).join(', ')} and ${more} more`
}
