import type * as v from 'valibot'
import type { KeyPart } from '../records/key-codec.ts'
import { type Job, jobs } from '../records/schema/index.ts'

/** The part of a collection that a declaration needs. */
export interface CollectionOf<R> {
  readonly options: { readonly name: string; readonly schema: v.GenericSchema<R> }
}

/** A number that is remembered of each record of a collection, for the checks of other collections. */
export interface Lookup {
  readonly collection: string
  /** What the number is found by; undefined to remember nothing of the record. */
  key(record: unknown, id: KeyPart): KeyPart | undefined
  value(record: unknown): number
}

/** The number that was remembered for the key; undefined when there is no such record. */
export type Find = (lookup: Lookup, key: KeyPart) => number | undefined

/**
 * @param value 1 unless given, for lookups that only tell whether the record exists
 * @param key the first member of the record's id unless given
 */
export const lookup = <R>(
  { options }: CollectionOf<R>,
  value: (record: R) => number = () => 1,
  key: (record: R, id: KeyPart) => KeyPart | undefined = (_, id) => id,
): Lookup => ({
  collection: options.name,
  key: (record, id) => key(record as R, id),
  value: (record) => value(record as R),
})

/** Finds the ids for which a job of the kind is pending: references to what such a job removes are not faults. */
export const pendingJob = (kind: Job['kind']): Lookup =>
  lookup(
    jobs,
    () => 1,
    (job) => (job.kind === kind ? job.id : undefined),
  )

/** What the first pass has remembered for the lookups. */
export class LookupTable {
  readonly #tables: ReadonlyMap<Lookup, { byId: NumberById; byName: Map<KeyPart, number> }>

  constructor(lookups: Iterable<Lookup>) {
    this.#tables = new Map([...lookups].map((each) => [each, { byId: new NumberById(), byName: new Map() }]))
  }

  readsFrom(collection: string): boolean {
    return [...this.#tables.keys()].some((each) => each.collection === collection)
  }

  remember(collection: string, id: KeyPart, record: unknown): void {
    for (const [each, { byId, byName }] of this.#tables) {
      if (each.collection !== collection) continue
      const key = each.key(record, id)
      if (typeof key === 'number') byId.set(key, each.value(record))
      else if (key !== undefined) byName.set(key, each.value(record))
    }
  }

  readonly find: Find = (wanted, key) => {
    const table = this.#tables.get(wanted)
    return typeof key === 'number' ? table?.byId.get(key) : table?.byName.get(key)
  }
}

const PAGE = 4096

/** Takes eight bytes for each id, since ids come from sequences and lie close together. */
class NumberById {
  readonly #pages = new Map<number, Float64Array>()

  get(id: number): number | undefined {
    const found = this.#pages.get(Math.floor(id / PAGE))?.[id % PAGE]
    return found === undefined || Number.isNaN(found) ? undefined : found
  }

  set(id: number, number: number): void {
    const index = Math.floor(id / PAGE)
    const page = this.#pages.get(index) ?? new Float64Array(PAGE).fill(Number.NaN)
    page[id % PAGE] = number
    this.#pages.set(index, page)
  }
}
