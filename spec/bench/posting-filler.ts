import { decodeKey, encodeKey, type KeyTuple } from '../../lib/records/key-codec.ts'
import { counterKey, counterName, orderedKey } from '../../lib/records/layout.ts'
import { encodeVersionedCount, type InvertedIndexOptions } from '../../lib/search/index.ts'
import { MIN_COMPACTED } from '../../lib/search/inverted-index.ts'
import { encodeBlock, postingList, recordKeyOf } from '../../lib/search/posting-list.ts'
import type { Bytes } from '../../lib/storage/index.ts'

const BLOCK_SIZE = 512

interface List {
  readonly name: KeyTuple
  count: number
  /** Orders that are in no block yet, ascending. */
  waiting: Bytes[]
}

/**
 * Makes the postings of a compacted search index as the compactor leaves them, without writing each of them
 * first. The postings of a record must have the same order in all of its lists, as those of a trigram index
 * have.
 */
export class PostingFiller {
  readonly #options: InvertedIndexOptions<unknown>
  readonly #put: (key: Bytes, value: Bytes) => void
  readonly #sources: { source: KeyTuple; order: Bytes }[] = []
  readonly #lists = new Map<string, List>()

  constructor(options: InvertedIndexOptions<unknown>, put: (key: Bytes, value: Bytes) => void) {
    this.#options = options
    this.#put = put
  }

  add(record: unknown, id: KeyTuple): void {
    const { keys, listDepth } = this.#options
    const source = this.#options.source(record)
    const [place] = source === undefined ? [] : keys(source)
    if (place !== undefined)
      this.#sources.push({ source: source!, order: encodeKey([...place.slice(listDepth), ...id]) })
  }

  /** @param written called now and then */
  async end(written: () => Promise<void>): Promise<void> {
    this.#sources.sort((left, right) => Buffer.compare(left.order, right.order))
    for (const [at, { source, order }] of this.#sources.entries()) {
      for (const place of this.#options.keys(source)) this.#addTo(place, order)
      if (at % 1000 === 0) await written()
    }
    const { collection, name } = this.#options
    for (const list of this.#lists.values()) {
      if (list.count < MIN_COMPACTED) this.#putLoose(list)
      else if (list.waiting.length > 0) this.#putBlock(list)
      const counter = counterKey(counterName(collection, name), list.name)
      this.#put(counter, encodeVersionedCount(list.count))
    }
    await written()
  }

  #addTo(place: KeyTuple, order: Bytes): void {
    const list = this.#listOf(place.slice(0, this.#options.listDepth))
    list.count++
    if (list.waiting.push(order) === BLOCK_SIZE) this.#putBlock(list)
  }

  #listOf(name: KeyTuple): List {
    const text = name.join('\0')
    const known = this.#lists.get(text)
    if (known !== undefined) return known
    const list = { name, count: 0, waiting: [] }
    this.#lists.set(text, list)
    return list
  }

  #putBlock(list: List): void {
    const { collection, name } = this.#options
    const { start } = postingList(collection, name, list.name).blocks
    this.#put(Buffer.concat([start, list.waiting[0]!]), encodeBlock(list.waiting))
    list.waiting = []
  }

  #putLoose(list: List): void {
    const { collection, name } = this.#options
    const { records } = postingList(collection, name, list.name)
    for (const order of list.waiting)
      this.#put(orderedKey(collection, name, list.name, decodeKey(order)), recordKeyOf(records, order))
  }
}
