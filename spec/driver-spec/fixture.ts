import type { TestContext } from 'node:test'
import type { Bytes, Entry, ReadTransaction, StorageDriver } from '../../lib/storage/index.ts'

/**
 * How another process creates a driver over the same records: `(await import(module))[name](...parameters)`.
 */
export interface Recipe {
  /** Path or URL of the module. */
  module: string
  /** Name of the function that it exports. */
  name: string
  /** Arguments of the function. */
  parameters: readonly string[]
}

/** A driver that is created for one test. */
export interface Fixture {
  /** A driver over a new, empty store. It is not open yet. */
  driver: StorageDriver
  /**
   * Creates another driver over the same records, not open yet. Unless drivers share, the first one is closed
   * by then.
   */
  reopen?(): Promise<StorageDriver>
  /** Tells other processes how to open the same records; for durable drivers. */
  recipe?: Recipe
  /** Closes all drivers and deletes the store. */
  dispose(): Promise<void>
}

/** A driver to test. */
export interface Candidate {
  /** Name in the titles of the tests. */
  name: string
  /** Whether records outlive the driver and its process. Fixtures then have `reopen` and `recipe`. */
  durable: boolean
  /** Whether several drivers can be open over the same records at once. `reopen` then works at any time. */
  shared?: boolean
  /** Creates a driver over a new, empty store. */
  create(): Promise<Fixture>
}

export type Part = (candidate: Candidate) => void

/** A fixture that is disposed when the test ends. */
export const fixture = async (t: TestContext, { create }: Candidate): Promise<Fixture> => {
  const made = await create()
  t.after(() => made.dispose())
  return made
}

/** Opens a driver, and closes it when the test ends. */
export const openFor = async (t: TestContext, driver: StorageDriver): Promise<StorageDriver> => {
  t.after(() => driver.close())
  await driver.open()
  return driver
}

/** An open driver over an empty store. */
export const opened = async (t: TestContext, candidate: Candidate): Promise<StorageDriver> => {
  const { driver } = await fixture(t, candidate)
  await driver.open()
  return driver
}

export const bytes = (text: string): Bytes => new TextEncoder().encode(text)
export const text = (value: Bytes | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value)

/** Bytes as text, so that a Buffer equals a Uint8Array and differences are readable. */
export const hex = (value: Bytes | undefined): string | undefined =>
  value === undefined ? undefined : Buffer.from(value).toString('hex')

export const collect = async (entries: AsyncIterable<Entry>): Promise<Entry[]> => {
  const collected: Entry[] = []
  for await (const entry of entries) collected.push(entry)
  return collected
}

/** The range of all keys that start with the text. */
export const below = (prefix: string): { start: Bytes; end: Bytes } => ({
  start: bytes(prefix),
  end: Uint8Array.of(...bytes(prefix), 0xff),
})

export const keysBelow = async (tx: ReadTransaction, prefix: string): Promise<(string | undefined)[]> =>
  (await collect(tx.range(below(prefix)))).map(([key]) => text(key))

export const save = (driver: StorageDriver, records: Record<string, string>): Promise<void> =>
  driver.write(async (tx) => {
    for (const [key, value] of Object.entries(records)) tx.put(bytes(key), bytes(value))
  })

export const load = (driver: StorageDriver, key: string): Promise<string | undefined> =>
  driver.read(async (tx) => text(await tx.get(bytes(key))))

/** A promise that resolves when `happen` is called. */
export const signal = (): { happened: Promise<void>; happen: () => void } => {
  let happen!: () => void
  const happened = new Promise<void>((resolve) => {
    happen = resolve
  })
  return { happened, happen }
}
