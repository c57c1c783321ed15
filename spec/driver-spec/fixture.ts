import type { TestContext } from 'node:test'
import type { Bytes, Entry, ReadTransaction, StorageDriver } from '../../lib/storage/index.ts'

/** How another process makes a driver over the same records: `(await import(module))[name](...parameters)`. */
export interface Recipe {
  module: string
  name: string
  parameters: readonly string[]
}

export interface Fixture {
  /** Over an empty store of its own, and not open yet. */
  driver: StorageDriver
  /** Another driver over the same records, not open yet, once the first is closed. */
  reopen?(): Promise<StorageDriver>
  /** How another process makes one. */
  recipe?: Recipe
  /** Closes what is still open and takes away what was made. */
  dispose(): Promise<void>
}

export interface Candidate {
  name: string
  /** Whether records outlive the driver and its process; then a fixture has `reopen` and `recipe`. */
  durable: boolean
  /** Whether several drivers may be open over the same records at once; then `reopen` need not wait for a close. */
  shared?: boolean
  create(): Promise<Fixture>
}

export type Part = (candidate: Candidate) => void

/** A fixture that goes when the test ends. */
export const fixture = async (t: TestContext, { create }: Candidate): Promise<Fixture> => {
  const made = await create()
  t.after(() => made.dispose())
  return made
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

/** Bytes in a form that is compared and printed well, whichever class of array holds them. */
export const hex = (value: Bytes | undefined): string | undefined =>
  value === undefined ? undefined : Buffer.from(value).toString('hex')

export const collect = async (entries: AsyncIterable<Entry>): Promise<Entry[]> => {
  const collected: Entry[] = []
  for await (const entry of entries) collected.push(entry)
  return collected
}

/** Every key that begins with the text. */
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

/** Something that happens when it is told to. */
export const signal = (): { happened: Promise<void>; happen: () => void } => {
  let happen!: () => void
  const happened = new Promise<void>((resolve) => {
    happen = resolve
  })
  return { happened, happen }
}
