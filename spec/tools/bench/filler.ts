import { ClassicLevel } from 'classic-level'
import type { Collection } from '../../../lib/records/collection.ts'
import { encodeValue, recordKey, storedLayout } from '../../../lib/records/layout.ts'
import { CURRENT_LAYOUT } from '../../../lib/records/schema/index.ts'
import { type Bytes, keyText } from '../../../lib/storage/index.ts'

/** Entries in one write. */
const BATCH_SIZE = 20_000

/** Large, so that LevelDB rewrites what it has less often; the files that it writes have their usual size. */
const WRITE_BUFFER_BYTES = 256 * 1024 * 1024

/**
 * Makes a store in a folder. Nothing is synced until the end, when LevelDB has written its files anew, as it
 * has done with most of what a store of some age holds.
 */
export const fillStore = async (
  folder: string,
  body: (filler: Filler) => Promise<void>,
  onProgress: (records: number) => void = () => undefined,
): Promise<number> => {
  const database = new ClassicLevel<Bytes, Bytes>(folder, {
    ...{ keyEncoding: 'view', valueEncoding: 'view', writeBufferSize: WRITE_BUFFER_BYTES },
  })
  await database.open()
  try {
    const filler = new Filler(database, onProgress)
    filler.put(storedLayout.key, encodeValue(CURRENT_LAYOUT))
    await body(filler)
    await filler.end()
    await database.compactRange(Buffer.of(0), Buffer.of(0xff))
    return filler.records
  } finally {
    await database.close()
  }
}

/**
 * Puts records with all that follows from them straight into a database: a million in half a minute, where
 * saving takes ten.
 */
export class Filler {
  readonly #database: ClassicLevel<Bytes, Bytes>
  readonly #onProgress: (records: number) => void
  readonly #counts = new Map<string, { key: Bytes; count: number }>()
  #batch: ReturnType<ClassicLevel<Bytes, Bytes>['batch']>
  records = 0

  constructor(database: ClassicLevel<Bytes, Bytes>, onProgress: (records: number) => void) {
    this.#database = database
    this.#onProgress = onProgress
    this.#batch = database.batch()
  }

  async add<R, U extends string, O extends string, C extends string>(
    { options: { name, id }, unique, ordered, counters }: Collection<R, U, O, C>,
    record: NoInfer<R>,
  ): Promise<void> {
    const key = recordKey(name, id(record))
    this.put(key, encodeValue(record))
    this.records++
    for (const { keysOf } of [...unique, ...ordered]) for (const entry of keysOf(record)) this.put(entry, key)
    for (const { keysOf } of counters) for (const counted of keysOf(record)) this.#count(counted)
    await this.#writeIfFull()
  }

  put(key: Bytes, value: Bytes): void {
    this.#batch.put(key, value)
  }

  async end(): Promise<void> {
    for (const { key, count } of this.#counts.values()) {
      this.put(key, encodeValue(count))
      await this.#writeIfFull()
    }
    await this.#batch.write({ sync: true })
    this.#onProgress(this.records)
  }

  async #writeIfFull(): Promise<void> {
    if (this.#batch.length < BATCH_SIZE) return
    await this.#batch.write()
    this.#batch = this.#database.batch()
    this.#onProgress(this.records)
  }

  #count(key: Bytes): void {
    const text = keyText(key)
    const counted = this.#counts.get(text)
    if (counted === undefined) this.#counts.set(text, { key, count: 1 })
    else counted.count++
  }
}
