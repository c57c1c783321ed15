import { type Derivation, storeDerivations } from '../../lib/integrity/derivations.ts'
import { decodeKey, type KeyTuple } from '../../lib/records/key-codec.ts'
import { encodeValue, recordKey } from '../../lib/records/layout.ts'
import { searchIndexes } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { Compactor } from '../../lib/search/compactor.ts'
import { MIN_COMPACTED } from '../../lib/search/inverted-index.ts'
import { COMPACTION_START, compactionMarkKey } from '../../lib/search/posting-list.ts'
import type { Bytes, StorageDriver } from '../../lib/storage/index.ts'

/** Entries in one write. */
const BATCH_SIZE = 20_000

/** Larger steps than a server takes, which has others to serve. */
const PACKED_AT_ONCE = { minLoose: MIN_COMPACTED, maxLoose: BATCH_SIZE, maxBlocks: 256, blockSize: 512 }

const isPacked = (counter: Bytes): boolean => String(decodeKey(counter)[0]).endsWith(':trigrams')

/** The compaction mark of a counted list. */
const grown = (key: Bytes): Bytes => {
  const [counter, ...head] = decodeKey(key)
  const [collection, index] = String(counter).split(':')
  return compactionMarkKey(collection!, index!, head)
}

/** Puts records with all that follows from them straight into a store: a million in a minute, where saving takes ten. */
export class Filler {
  readonly #driver: StorageDriver
  readonly #derivations = storeDerivations()
  readonly #counts = new Map<string, { key: Bytes; count: number; encode: Derivation['encode'] }>()
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
    for (const derivation of this.#derivations) this.#derive(derivation, name, record, key)
    if (this.#waiting.length >= BATCH_SIZE) await this.flush()
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
    for (const { key, count, encode } of this.#counts.values()) {
      this.put(key, encode!(count))
      if (isPacked(key) && count >= MIN_COMPACTED) this.put(grown(key), COMPACTION_START)
      if (this.#waiting.length >= BATCH_SIZE) await this.flush()
    }
    await this.flush()
    const compactor = new Compactor(
      new Store(this.#driver),
      searchIndexes,
      (error) => Promise.reject(error),
      PACKED_AT_ONCE,
    )
    while (await compactor.step());
  }

  #derive(
    { kind, sources, encode }: Derivation,
    collection: string,
    record: unknown,
    recordKey: Bytes,
  ): void {
    const emit = (key: Bytes) => {
      if (kind === 'index') return this.put(key, recordKey)
      const text = Buffer.from(key).toString('latin1')
      const counted = this.#counts.get(text) ?? { key, count: 0, encode }
      counted.count++
      this.#counts.set(text, counted)
    }
    for (const source of sources)
      if (source.collection === collection) source.emitFrom(record, recordKey, emit, () => undefined)
  }
}
