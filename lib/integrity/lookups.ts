import type { KeyPart } from '../records/key-codec.ts'
import type { Lookup, LookupValue } from './checks.ts'

const PAGE = 4096

/** A number for each id. Ids come from sequences, so they lie close together: eight bytes each, and no map of them. */
class NumberById {
  readonly #pages = new Map<number, Float64Array>()

  get(id: number): number | undefined {
    const found = this.#pages.get(Math.floor(id / PAGE))?.[id % PAGE]
    return found === undefined || Number.isNaN(found) ? undefined : found
  }

  set(id: number, number: number): void {
    const at = Math.floor(id / PAGE)
    let page = this.#pages.get(at)
    if (page === undefined) {
      page = new Float64Array(PAGE).fill(Number.NaN)
      this.#pages.set(at, page)
    }
    page[id % PAGE] = number
  }
}

/** What is remembered of the records of the collections that have facts. */
export class Lookups {
  readonly #facts: ReadonlyMap<Lookup, { byId: NumberById; byName: Map<KeyPart, number> }>

  constructor(facts: readonly Lookup[]) {
    this.#facts = new Map(facts.map((one) => [one, { byId: new NumberById(), byName: new Map() }]))
  }

  get collections(): ReadonlySet<string> {
    return new Set([...this.#facts.keys()].map((fact) => fact.collection))
  }

  remember(collection: string, id: KeyPart, record: unknown): void {
    for (const [fact, { byId, byName }] of this.#facts) {
      if (fact.collection !== collection) continue
      const about = fact.about(record, id)
      if (about === undefined) continue
      if (typeof about === 'number') byId.set(about, fact.of(record))
      else byName.set(about, fact.of(record))
    }
  }

  readonly value: LookupValue = (fact, id) => {
    const kept = this.#facts.get(fact)
    return typeof id === 'number' ? kept?.byId.get(id) : kept?.byName.get(id)
  }
}
