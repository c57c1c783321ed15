import type { Subject } from '../../lib/index.ts'

/**
 * A model of the event quota: what a list of transactions crosses, from sums that are made again for each of
 * them.
 */

export interface Rule {
  readonly name: string
  readonly limit: number
  readonly subjects: Subject[]
}

/** An entry that is saved, or removed when its size is null. */
export interface Change {
  readonly kind: 'packages' | 'artifacts'
  readonly key: string
  readonly size: number | null
}

type Kinds = readonly Change['kind'][]
const BOTH: Kinds = ['packages', 'artifacts']
const COUNTED: Partial<Record<Subject, Kinds>> = {
  'size:all': BOTH,
  'size:assets:all': BOTH,
  'size:assets:artifacts': ['artifacts'],
  'size:assets:packages:all': ['packages'],
}
const NEAR = 0.8

type Entries = ReadonlyMap<string, Change>

const measure = ({ subjects }: Rule, entries: Entries): number => {
  let sum = 0
  for (const subject of subjects)
    for (const { kind, size } of entries.values()) if (COUNTED[subject]!.includes(kind)) sum += size ?? 0
  return sum
}

/** The payloads of the webhooks of one owner, without the owner. */
export const quotaEventsOf = (rules: readonly Rule[], transactions: readonly (readonly Change[])[]) => {
  const events: object[] = []
  let entries: Entries = new Map()
  for (const changes of transactions) {
    const next = new Map(entries)
    for (const change of changes) next.set(`${change.kind} ${change.key}`, change)
    for (const rule of rules) events.push(...quotaEventsOfRule(rule, entries, next))
    entries = next
  }
  return events
}

function* quotaEventsOfRule(rule: Rule, earlier: Entries, later: Entries) {
  const { limit, subjects } = rule
  const [before, used] = [measure(rule, earlier), measure(rule, later)]
  const measured = { limit, subjects, before, used }
  if (limit <= 0) return
  if (before < limit * NEAR && used >= limit * NEAR)
    yield { action: 'near', share: NEAR, reached: true, ...measured }
  if (before < limit && used >= limit) yield { action: 'crossed', share: 1, reached: true, ...measured }
  if (before >= limit && used < limit) yield { action: 'back', share: 1, reached: false, ...measured }
  if (before >= limit * NEAR && used < limit * NEAR)
    yield { action: 'back', share: NEAR, reached: false, ...measured }
}
