import { createHash } from 'node:crypto'
import type { Origin } from '../../lib/content/migrated-content.ts'
import type { CopyIds } from '../../lib/records/schema/index.ts'
import type { Kind } from './labels.ts'

/**
 * What is followed: things of a kind here, and items of the source. copies.ts brings them together, and
 * compares them.
 */

export type Values = Readonly<Record<string, unknown>>

/** The members of `source` that have another value here. */
export const differing = (here: Values, source: Values): string[] =>
  Object.keys(source).filter((member) => JSON.stringify(here[member]) !== JSON.stringify(source[member]))

export const digestOf = (values: object): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('hex')

/** Things of one kind that belong to one account, repository or team, and how they are found here. */
export interface Things {
  readonly kind: Kind
  /** Key in the migration log of the account, the repository or the team that the things belong to. */
  readonly scope: string
  /** Name of what they belong to, in the report; absent when it is nothing, or the labels already say it. */
  readonly within?: string
  /**
   * The thing here; undefined when it does not exist.
   * @param copy what an earlier run has made
   */
  find(name: string, copy?: CopyIds): Promise<CopyIds | undefined>
  /** Its members that follow the source; absent when it only exists or not. */
  members?(copy: CopyIds, name: string): Promise<Values>
  /** Members that a copy has had since it was created: they are only compared. */
  kept?(copy: CopyIds): Promise<Values>
  /** All of them on this server: `allot migrate verify` names those that the source does not have. */
  list?(): Promise<readonly { readonly copy: CopyIds; readonly label: string }[]>
  /** What `allot migrate verify` calls one of them; absent: the label of the kind. */
  readonly one?: string
  /** Its name in the report when the source no longer has it; absent: its name in the migration log. */
  shown?(copy: CopyIds, name: string): Promise<string | undefined>
  /** Whether something of this server needs it, which keeps it here when the source removes it. */
  isNeeded?(copy: CopyIds, name: string): Promise<boolean>
  remove(name: string, copy: CopyIds): Promise<unknown>
  /** Whether `create` and `edit` save the record in the migration log themselves. */
  readonly savesRecords?: true
}

/** A thing that the source has, such as a key or an issue. */
export interface Item {
  /** Identifies the thing in every migration. */
  readonly name: string
  /** Its name in the report. */
  readonly label: string
  readonly values?: Values
  /** As `Things.kept`; an undefined value is not compared. */
  readonly kept?: Values
  /** Of each member that is a right, the lesser value of the two sides. */
  rightsOnBothSides?(here: Values): Values
  /** Whether it can be created; otherwise the report says why. Absent: it always can. */
  isPossible?(): Promise<boolean>
  /** @returns false when it cannot be created; the report then says why */
  create(origin: Origin): Promise<boolean>
  /** @param values those that differ */
  edit?(copy: CopyIds, values: Values, origin: Origin): Promise<unknown>
}

/** A name in the report, with what it belongs to. */
export const labelOf = ({ within }: Pick<Things, 'within'>, { label }: Pick<Item, 'label'>): string =>
  within === undefined ? label : `${label} (${within})`
