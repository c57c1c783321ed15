import { readFileSync } from 'node:fs'
import { decodeKey } from '../../lib/records/key-codec.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'

/** Everything in a store as texts that can be compared: [key, value], both in hex. */
export type Raw = [key: string, value: string][]

const EVERYTHING = { start: new Uint8Array(), end: Uint8Array.of(0xff) }

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

export const rawOf = (driver: StorageDriver): Promise<Raw> =>
  driver.read(async (tx) => {
    const raw: Raw = []
    for await (const [key, value] of tx.range(EVERYTHING)) raw.push([hex(key), hex(value)])
    return raw
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
