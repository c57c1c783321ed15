import { readFileSync } from 'node:fs'
import { decodeKey, decodeKeyIfValid } from '../../lib/records/key-codec.ts'
import { encodeValue } from '../../lib/records/layout.ts'
import { decodeVersionedCount } from '../../lib/search/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'

/** Everything in a store as texts that can be compared: [key, value], both in hex. */
export type Raw = [key: string, value: string][]

const EVERYTHING = { start: new Uint8Array(), end: Uint8Array.of(0xff) }

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** Just as it is. */
export const exactly = (driver: StorageDriver): Promise<Raw> =>
  driver.read(async (tx) => {
    const raw: Raw = []
    for await (const [key, value] of tx.range(EVERYTHING)) raw.push([hex(key), hex(value)])
    return raw
  })

export const rawOf = async (driver: StorageDriver): Promise<Raw> => comparable(await exactly(driver))

/** Stamps are drawn by lot: of what is stamped only the count can be compared. */
export const comparable = (raw: Raw): Raw =>
  raw.map(([key, value]) => {
    const [first] = decodeKeyIfValid(Buffer.from(key, 'hex')) ?? []
    if (!/:(?:trigrams|words)$/.test(String(first))) return [key, value]
    return [key, hex(encodeValue(decodeVersionedCount(Buffer.from(value, 'hex')) ?? value))]
  })

/** The same without the metadata of the store. */
export const contentOf = async (driver: StorageDriver): Promise<Raw> =>
  (await rawOf(driver)).filter(([key]) => decodeKey(Buffer.from(key, 'hex'))[0] !== 'metadata')

/** Opens the driver and puts a committed store into it. */
export const openWith = async (driver: StorageDriver, raw: Raw): Promise<void> => {
  await driver.open()
  await driver.write(async (tx) => {
    for (const [key, value] of raw) tx.put(Buffer.from(key, 'hex'), Buffer.from(value, 'hex'))
  })
}

/** A store that an older version has made, one `{"key","value"}` in hex a line. */
export const storeOf = (name: string): Raw =>
  readFileSync(new URL(`./stores/${name}.ndjson`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const { key, value } = JSON.parse(line) as { key: string; value: string }
      return [key, value]
    })
