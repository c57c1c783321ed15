import { decodeKey, type KeyTuple } from '../../lib/records/keys.ts'
import { grownKey, recordKey } from '../../lib/records/layout.ts'
import { BEGINNING } from '../../lib/records/packed.ts'
import { createPacking } from '../../lib/records/packing.ts'
import { type Kept, openBooks, type Told } from '../../lib/records/proof/balances.ts'
import { FEW, stampedValue } from '../../lib/records/spread.ts'
import { createStore } from '../../lib/records/store.ts'
import { encodeValue } from '../../lib/records/values.ts'
import type { Bytes, StorageDriver } from '../../lib/storage/index.ts'

/** Entries in one write. */
const AT_ONCE = 20_000

/** Larger steps than a server takes, which has others to serve. */
const PACKED_AT_ONCE = { few: FEW, loose: AT_ONCE, packs: 256, size: 512 }

const isPacked = (counter: Bytes): boolean => String(decodeKey(counter)[0]).endsWith(':grams')

/** What says of the list of a count that it has grown. */
const grown = (key: Bytes): Bytes => {
  const [counter, ...head] = decodeKey(key)
  const [collection, index] = String(counter).split(':')
  return grownKey(collection!, index!, head)
}

/** Puts records with all that follows from them straight into a store: a million in a minute, where saving takes ten. */
export class Filler {
  readonly #driver: StorageDriver
  readonly #books = openBooks([])
  readonly #counts = new Map<string, { key: Bytes; count: number; isStamped: boolean }>()
  #waiting: [Bytes, Bytes][] = []
  records = 0

  readonly #told: (records: number) => void

  constructor(driver: StorageDriver, told: (records: number) => void) {
    this.#driver = driver
    this.#told = told
  }

  async add<R>(
    { options: { name, id } }: { options: { name: string; id(record: R): KeyTuple } },
    record: R,
  ): Promise<void> {
    const key = recordKey(name, id(record))
    this.put(key, encodeValue(record))
    this.records++
    for (const told of this.#books.toldBy.get(name)!) this.#derive(told as Told & Kept, record, key)
    if (this.#waiting.length >= AT_ONCE) await this.flush()
  }

  put(key: Bytes, value: Bytes): void {
    this.#waiting.push([key, value])
  }

  async flush(): Promise<void> {
    const entries = this.#waiting
    this.#waiting = []
    this.#told(this.records)
    await this.#driver.write(async (tx) => {
      for (const [key, value] of entries) tx.put(key, value)
    })
  }

  async end(): Promise<void> {
    for (const { key, count, isStamped } of this.#counts.values()) {
      this.put(key, isStamped ? stampedValue(count) : encodeValue(count))
      if (isPacked(key) && count >= FEW) this.put(grown(key), BEGINNING)
      if (this.#waiting.length >= AT_ONCE) await this.flush()
    }
    await this.flush()
    const packing = createPacking(createStore(this.#driver), (error) => Promise.reject(error), PACKED_AT_ONCE)
    while (await packing.step());
  }

  #derive({ tell, kind, isStamped = false }: Told & Kept, record: unknown, recordKey: Bytes): void {
    const due = (key: Bytes, _: number, value?: Bytes) => {
      if (kind === 'index') return this.put(key, value!)
      const text = Buffer.from(key).toString('latin1')
      const counted = this.#counts.get(text) ?? { key, count: 0, isStamped }
      counted.count++
      this.#counts.set(text, counted)
    }
    tell({ due, held: () => undefined }, record, recordKey, () => undefined)
  }
}
