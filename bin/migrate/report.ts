import { escapeControl } from '../terminal.ts'

/** Collects what a migration did, and what it could not do. */
export interface Report {
  /** @param kind such as `users` */
  copied(kind: string): void
  /** It already existed here. */
  found(kind: string): void
  /** It cannot be copied. @param name whose it is */
  notCopied(what: string, name: string): void
  /** A right that Allot cannot express. Every name is listed. */
  leftOut(what: string, name: string): void
  /** The source revoked it after an earlier migration had copied it. */
  revoked(what: string, name: string): void
  /** It differs from the source, and stays unchanged. */
  differs(what: string, name: string): void
  /** It should have been copied. */
  failed(what: string, reason: string): void
  /** Whether nothing failed. */
  isComplete(): boolean
  lines(): string[]
}

/** Further names are only counted. */
const MAX_NAMES = 10

type NamesByReason = Map<string, Set<string>>

export const createReport = (): Report => {
  const counts = new Map<string, { copied: number; found: number }>()
  const [notCopied, leftOut, revoked, differs]: NamesByReason[] = [new Map(), new Map(), new Map(), new Map()]
  const failures: string[] = []
  const count = (kind: string, outcome: 'copied' | 'found') => {
    const counted = counts.get(kind) ?? { copied: 0, found: 0 }
    counted[outcome]++
    counts.set(kind, counted)
  }
  const addTo = (names: NamesByReason) => (what: string, name: string) =>
    void names.set(what, (names.get(what) ?? new Set()).add(name))
  return {
    copied: (kind) => count(kind, 'copied'),
    found: (kind) => count(kind, 'found'),
    notCopied: addTo(notCopied!),
    leftOut: addTo(leftOut!),
    revoked: addTo(revoked!),
    differs: addTo(differs!),
    failed: (what, reason) => void failures.push(`${what}: ${reason}`),
    isComplete: () => failures.length === 0,
    lines: () =>
      [
        ...[...counts].map(
          ([kind, { copied, found }]) => `${kind}: ${copied} copied, ${found} already there`,
        ),
        ...section('not copied', linesOf(notCopied!, MAX_NAMES)),
        ...section('rights left out', linesOf(leftOut!)),
        ...section('revoked, because the source revoked it', linesOf(revoked!)),
        ...section('different here, and left unchanged', linesOf(differs!)),
        ...section('failed', failures),
      ].map(escapeControl),
  }
}

const linesOf = (namesByReason: NamesByReason, maxNames = Number.POSITIVE_INFINITY): string[] =>
  [...namesByReason].map(([what, set]) => {
    const names = [...set]
    const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : ''
    return `${what}: ${names.slice(0, maxNames).join(', ')}${more}`
  })

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]
