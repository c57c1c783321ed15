import { type Sum, subtract } from '../integers.ts'
import { bindingRoom, type Room } from '../quota/evaluate.ts'
import type { Standing } from '../quota/standing.ts'
import { type Subject, type Usage, usedBy } from '../quota/subjects.ts'

/** The parts that a bar is made of: together they are all that is used. */
export const parts = [
  { subject: 'size:repos:public', name: 'Public repositories' },
  { subject: 'size:repos:private', name: 'Private repositories' },
  { subject: 'size:git:lfs', name: 'LFS' },
  { subject: 'size:assets:attachments:all', name: 'Attachments' },
  { subject: 'size:assets:artifacts', name: 'Artifacts' },
  { subject: 'size:assets:packages:all', name: 'Packages' },
] as const satisfies readonly { subject: Subject; name: string }[]

export type State = 'over' | 'near' | 'within' | 'unlimited'

/** How an owner stands for one subject. */
export interface Measure {
  readonly subject: Subject
  /** Bytes that count toward the subject. */
  readonly used: Sum
  /** The limit that binds; undefined where nothing limits. */
  readonly room: Room | undefined
  readonly state: State
}

export const measureOf = ({ groups, usage }: Standing, subject: Subject, nearAt: number): Measure => {
  const room = bindingRoom(groups, subject, usage)
  return { subject, used: usedBy(subject, usage), room, state: stateOf(room, nearAt) }
}

/** The share is of what the rule measures, which is what is not left of its limit. */
const stateOf = (room: Room | undefined, nearAt: number): State => {
  if (room === undefined) return 'unlimited'
  if (room.left <= 0) return 'over'
  return subtract(room.limit, room.left) >= room.limit * nearAt ? 'near' : 'within'
}

export interface Slice {
  readonly name: string
  readonly bytes: Sum
}

/** What is used, in parts. */
export const slicesOf = (usage: Usage): Slice[] =>
  parts.map(({ subject, name }) => ({ name, bytes: usedBy(subject, usage) }))
