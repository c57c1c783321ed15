import { type Sum, subtract } from '../integers.ts'
import { bindingLimit, type LimitStatus } from '../quota/evaluate.ts'
import type { QuotaStatus } from '../quota/status.ts'
import { type Subject, type Usage, usedBy } from '../quota/subjects.ts'

/** The parts that a bar is made of: together they are all that is used. */
export const usageParts = [
  { subject: 'size:repos:public', name: 'Public repositories' },
  { subject: 'size:repos:private', name: 'Private repositories' },
  { subject: 'size:git:lfs', name: 'LFS' },
  { subject: 'size:assets:attachments:all', name: 'Attachments' },
  { subject: 'size:assets:artifacts', name: 'Artifacts' },
  { subject: 'size:assets:packages:all', name: 'Packages' },
] as const satisfies readonly { subject: Subject; name: string }[]

export type LimitState = 'over' | 'near' | 'within' | 'unlimited'

/** How an owner stands for one subject. */
export interface SubjectStatus {
  readonly subject: Subject
  /** Bytes that count toward the subject. */
  readonly used: Sum
  /** The limit that binds; undefined where nothing limits. */
  readonly room: LimitStatus | undefined
  readonly state: LimitState
}

export const subjectStatus = (
  { groups, usage }: QuotaStatus,
  subject: Subject,
  nearAt: number,
): SubjectStatus => {
  const room = bindingLimit(groups, subject, usage)
  return { subject, used: usedBy(subject, usage), room, state: stateOf(room, nearAt) }
}

/** The share is of what the rule measures, which is what is not left of its limit. */
const stateOf = (room: LimitStatus | undefined, nearAt: number): LimitState => {
  if (room === undefined) return 'unlimited'
  if (room.remaining <= 0) return 'over'
  return subtract(room.limit, room.remaining) >= room.limit * nearAt ? 'near' : 'within'
}

export interface UsagePart {
  readonly name: string
  readonly bytes: Sum
}

/** What is used, in parts. */
export const usagePartsOf = (usage: Usage): UsagePart[] =>
  usageParts.map(({ subject, name }) => ({ name, bytes: usedBy(subject, usage) }))
