import { takeAccountName } from '../accounts/account-records.ts'
import { now } from '../clock.ts'
import { AllotError, invalid, withLineNumber } from '../errors.ts'
import type { FilePlace } from '../files/index.ts'
import type { Collection } from '../records/collection.ts'
import { importing, isEmpty, storedLayout } from '../records/layout.ts'
import {
  type Account,
  accounts,
  CURRENT_LAYOUT,
  files,
  type Group,
  groups,
  pendingFolders,
  type Repository,
  type Rule,
  repositories,
  rules,
  type StoredFile,
} from '../records/schema/index.ts'
import { formatShard, parseShard, shardOf } from '../records/shards.ts'
import { firstUnclaimed, setSequence } from '../records/store.ts'
import { endPending } from '../repositories/git-data.ts'
import { type ReadTransaction, StorageError, type WriteTransaction } from '../storage/index.ts'
import { ContentImport } from './content-import.ts'
import type { InstanceStorage } from './export.ts'
import type { FirstLine, LastLine, OnProgress, SequenceLine } from './format.ts'
import { importStore } from './import.ts'
import { importLines, type LineImport, type SavedLine } from './import-lines.ts'
import { finishGroupRemovals, mergeGroup, mergeRule } from './quota-merge.ts'
import { checkedRecord, labelOf } from './record-import.ts'

/** Records that are saved in one transaction, so that owners appear whole or not at all. */
const MAX_RECORDS = 50_000

/**
 * Imports a whole export into an empty store, and one of owners into any store that shares no ids with
 * theirs.
 */
export const importInto = async (
  storage: InstanceStorage,
  source: AsyncIterable<Uint8Array>,
  onProgress?: OnProgress,
): Promise<LastLine> => {
  const rest = chunksOf(source)
  try {
    const head = await readFirst(rest)
    const chunks = joined(head, rest)
    const isUsed = await storage.driver.read(async (tx) => !(await importing.get(tx)) && !(await isEmpty(tx)))
    return isUsed && isOfOwners(head)
      ? await new OwnerImport(storage).run(chunks, onProgress)
      : await importStore(storage, chunks, onProgress)
  } finally {
    await rest.return(undefined)
  }
}

async function* chunksOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* source
}

async function* joined(head: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head
  yield* rest
}

/** A first line is much shorter. */
const MAX_FIRST_BYTES = 1024 * 1024

/** The chunks up to the end of the first line. */
const readFirst = async (chunks: AsyncIterator<Uint8Array>): Promise<Buffer> => {
  let head = Buffer.alloc(0)
  while (!head.includes(10) && head.length < MAX_FIRST_BYTES) {
    const { value, done } = await chunks.next()
    if (done === true) break
    head = Buffer.concat([head, value])
  }
  return head
}

const isOfOwners = (head: Buffer): boolean => /^\{[^\n]*"owners":\[/.test(head.toString('utf8'))

interface Received {
  readonly number: number
  readonly collection: Collection<unknown>
  readonly record: unknown
}

/**
 * Imports owners into a store that others use, also while servers serve it. The last step saves the records
 * in a single transaction: before it the owners are not visible, and a refused file changes nothing. Git data
 * and files come before it, and are recorded as on their way (lib/repositories/git-data.ts, stored-files.ts),
 * so that a later start of a server removes what a killed import leaves.
 */
class OwnerImport implements LineImport {
  readonly content: ContentImport
  readonly #storage: InstanceStorage
  readonly #received: Received[] = []
  readonly #sequences: SequenceLine[] = []
  readonly #accounts: Account[] = []
  /** Ids, and files by their place: content may only arrive for these. */
  readonly #repositories = new Set<number>()
  readonly #files = new Map<string, StoredFile>()
  #first: FirstLine | undefined
  #isPrepared = false

  constructor(storage: InstanceStorage) {
    this.#storage = storage
    this.content = new ContentImport(storage, {
      hasRepository: async (id) => this.#repositories.has(id),
      file: async (place) => this.#files.get(placeOf(place)),
    })
  }

  /**
   * @throws AllotError invalid, with the number of the line, or conflict when the store has one of the
   * records already
   */
  async run(source: AsyncIterable<Uint8Array>, onProgress?: OnProgress): Promise<LastLine> {
    try {
      const last = await importLines(source, this, onProgress)
      await finishGroupRemovals(this.#storage.driver, this.#received)
      await this.#storage.driver.write((tx) => this.#saveRecords(tx))
      return last
    } catch (error) {
      // After a storage error the records may be durable anyway.
      if (this.#isPrepared && !(error instanceof StorageError)) await this.#removeContent()
      throw error
    }
  }

  begin(first: FirstLine): void {
    this.#first = first
  }

  /** Checks and keeps the records: they are saved at the end. */
  async save(lines: readonly SavedLine[]): Promise<void> {
    for (const { number, line } of lines)
      if ('sequence' in line) this.#sequences.push(line)
      else await withLineNumber(number, () => this.#receiveRecord({ number, ...checkedRecord(line) }))
  }

  #receiveRecord(received: Received): void {
    const { collection, record } = received
    this.#received.push(received)
    if (this.#received.length > MAX_RECORDS)
      throw invalid(`more than ${MAX_RECORDS} records can only be imported into an empty store`)
    if (collection.options.name === accounts.options.name) this.#accounts.push(record as Account)
    if (collection.options.name === repositories.options.name)
      this.#repositories.add((record as Repository).id)
    if (collection.options.name === files.options.name)
      this.#files.set(placeOf(record as StoredFile), record as StoredFile)
  }

  /**
   * Records the git data and files as on their way, once nothing here has their ids or the names of the
   * accounts.
   */
  async prepare(): Promise<void> {
    await this.#storage.driver.write(async (tx) => {
      await requireCompatible(tx, this.#first!)
      for (const account of this.#accounts) await requireNew(tx, account)
      for (const id of this.#repositories) {
        if (
          (await repositories.get(tx, [id])) !== undefined ||
          (await pendingFolders.get(tx, [id])) !== undefined
        )
          throw new AllotError('conflict', `the store already has a repository with the id ${id}`)
        await pendingFolders.save(tx, { id, since: now() })
      }
      for (const file of this.#files.values())
        if ((await files.save(tx, { ...file, state: 'arriving', since: now() })) !== undefined)
          throw new AllotError('conflict', `the store already has the file ${placeOf(file)}`)
    })
    this.#isPrepared = true
  }

  /** May run again. */
  async #saveRecords(tx: WriteTransaction): Promise<void> {
    await requireCompatible(tx, this.#first!)
    for (const received of this.#received)
      await withLineNumber(received.number, () => saveRecord(tx, received), ['conflict'])
    for (const { sequence, next } of this.#sequences)
      if ((await firstUnclaimed(tx, sequence)) < next) setSequence(tx, sequence, next)
  }

  async #removeContent(): Promise<void> {
    const { driver, gitStorage, fileStorage } = this.#storage
    for (const id of this.#repositories) await gitStorage?.remove(id)
    for (const file of this.#files.values()) await fileStorage?.remove(file)
    await driver.write(async (tx) => {
      for (const id of this.#repositories) await pendingFolders.remove(tx, [id])
      for (const { area, ownerId, name } of this.#files.values())
        await files.remove(tx, [area, ownerId, name])
    })
  }
}

const placeOf = ({ area, ownerId, name }: FilePlace): string => `${area}/${ownerId}/${name}`

/**
 * The store must have the current layout. Only different shards of the same total have distinct ids.
 * @throws AllotError conflict; invalid for a file with a malformed shard
 */
const requireCompatible = async (tx: ReadTransaction, { shard }: FirstLine): Promise<void> => {
  if ((await storedLayout.get(tx)) !== CURRENT_LAYOUT)
    throw new AllotError(
      'conflict',
      'the store has the layout of another version: open it with this one first',
    )
  const own = await shardOf(tx)
  if (own === undefined || shard === undefined)
    throw new AllotError(
      'conflict',
      `the store is not empty, and ${own === undefined ? 'it is not' : 'the file does not come from'} a shard, so ids may collide: import into an empty store, or see \`allot shard\``,
    )
  const from = parseShard(shard)
  if (from.of !== own.of || from.number === own.number)
    throw new AllotError(
      'conflict',
      `the file is from shard ${shard}, and the store is shard ${formatShard(own)}: only different shards of the same total, such as 3/16 and 5/16, have distinct ids`,
    )
}

const requireNew = async (tx: ReadTransaction, { id, name }: Account): Promise<void> => {
  if ((await accounts.findBy(tx, 'name', [name.toLowerCase()])) !== undefined)
    throw new AllotError('conflict', `the store already has an account ${name}`)
  if ((await accounts.get(tx, [id])) !== undefined)
    throw new AllotError('conflict', `the store already has an account with the id ${id}`)
}

const saveRecord = async (tx: WriteTransaction, { collection, record }: Received): Promise<void> => {
  const { name } = collection.options
  if (name === rules.options.name) return mergeRule(tx, record as Rule)
  if (name === groups.options.name) return mergeGroup(tx, record as Group)
  if (name === repositories.options.name && !(await endPending(tx, (record as Repository).id)))
    throw tookTooLong()
  if (name === accounts.options.name) await takeAccountName(tx, (record as Account).name)
  const before = await collection.save(tx, record).catch((cause) => {
    if (!(cause instanceof AllotError) || cause.code !== 'conflict') throw cause
    const message = `another record of the store has a name or an address of ${labelOf(collection, record)}: rename or remove that one first`
    throw new AllotError('conflict', message, { cause })
  })
  if (name === files.options.name) {
    if ((before as StoredFile | undefined)?.state !== 'arriving') throw tookTooLong()
  } else if (before !== undefined)
    throw new AllotError(
      'conflict',
      `the store already has ${labelOf(collection, record)}: remove it there first`,
    )
}

const tookTooLong = () =>
  new AllotError('conflict', 'the import took so long that a server has removed what had arrived: try again')
