import { ClassicLevel } from 'classic-level'
import { type Derivation, storeDerivations } from '../../lib/integrity/derivations.ts'
import type { KeyTuple } from '../../lib/records/key-codec.ts'
import { encodeValue, recordKey, storedLayout } from '../../lib/records/layout.ts'
import { CURRENT_LAYOUT, searchIndexes } from '../../lib/records/schema/index.ts'
import type { InvertedIndexOptions } from '../../lib/search/index.ts'
import { type Bytes, keyText } from '../../lib/storage/index.ts'
import { PostingFiller } from './posting-filler.ts'

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

/** What follows from the records of one collection. */
interface Sources {
  readonly emitters: ((record: unknown, key: Bytes) => void)[]
  readonly postings: PostingFiller[]
}

/**
 * Puts records with all that follows from them straight into a database: a million in half a minute, where
 * saving takes ten.
 */
export class Filler {
  readonly #database: ClassicLevel<Bytes, Bytes>
  readonly #onProgress: (records: number) => void
  readonly #sources = new Map<string, Sources>()
  readonly #counts = new Map<string, { key: Bytes; count: number; encode: Derivation['encode'] }>()
  #batch: ReturnType<ClassicLevel<Bytes, Bytes>['batch']>
  #recordKey: Bytes = Buffer.alloc(0)
  records = 0

  constructor(database: ClassicLevel<Bytes, Bytes>, onProgress: (records: number) => void) {
    this.#database = database
    this.#onProgress = onProgress
    this.#batch = database.batch()
    const compacted = searchIndexes
      .map(({ options }) => options as unknown as InvertedIndexOptions<unknown>)
      .filter(({ isCompacted }) => isCompacted)
    for (const options of compacted)
      this.#sourcesOf(options.collection).postings.push(
        new PostingFiller(options, (key, value) => this.put(key, value)),
      )
    for (const derivation of storeDerivations())
      if (!compacted.some((options) => isOf(derivation, options))) this.#addEmitters(derivation)
  }

  async add<R>(
    { options: { name, id } }: { options: { name: string; id(record: R): KeyTuple } },
    record: R,
  ): Promise<void> {
    const key = recordKey(name, id(record))
    this.put(key, encodeValue(record))
    this.records++
    const { emitters, postings } = this.#sourcesOf(name)
    for (const emit of emitters) emit(record, key)
    for (const filler of postings) filler.add(record, id(record))
    await this.#writeIfFull()
  }

  put(key: Bytes, value: Bytes): void {
    this.#batch.put(key, value)
  }

  async end(): Promise<void> {
    for (const { postings } of this.#sources.values())
      for (const filler of postings) await filler.end(() => this.#writeIfFull())
    for (const { key, count, encode } of this.#counts.values()) {
      this.put(key, encode!(count))
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

  #sourcesOf(collection: string): Sources {
    const sources = this.#sources.get(collection) ?? { emitters: [], postings: [] }
    this.#sources.set(collection, sources)
    return sources
  }

  #addEmitters({ kind, sources, encode }: Derivation): void {
    const emit = (key: Bytes) => {
      if (kind === 'index') return this.put(key, this.#recordKey)
      const text = keyText(key)
      const counted = this.#counts.get(text)
      if (counted === undefined) this.#counts.set(text, { key, count: 1, encode })
      else counted.count++
    }
    for (const source of sources)
      this.#sourcesOf(source.collection).emitters.push((record, key) => {
        this.#recordKey = key
        source.emitFrom(record, key, emit, findNothing)
      })
  }
}

const findNothing = () => undefined

/** Whether a derivation is the index or the counters of a search index. */
const isOf = ({ ranges }: Derivation, { collection, name }: InvertedIndexOptions<unknown>): boolean =>
  ranges.some(
    ({ prefix: [first, , index] }) =>
      first === `${collection}:${name}` || (first === collection && index === name),
  )
