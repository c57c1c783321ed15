import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { memory } from '../../drivers/memory/index.ts'
import type { AllotOptions, StorageDriver } from '../../lib/index.ts'
import { type BegunPush, diskEntries } from '../../lib/records/schema/index.ts'
import type { Person } from '../support/test-server.ts'
import { aCheckout } from './client.ts'
import { type ServedGit, startGit } from './served.ts'

export const large = () => aCheckout({ big: randomBytes(400_000) })

/** The pushes that are not counted. */
export const entriesIn = (driver: StorageDriver): Promise<BegunPush[]> =>
  driver.read(async (tx) => {
    const found: BegunPush[] = []
    for await (const entry of diskEntries.all(tx)) if (entry.what === 'push') found.push(entry)
    return found
  })

export const notesIn = async (driver: StorageDriver): Promise<number> => (await entriesIn(driver)).length

export const quarantines = (folder: string) =>
  readdirSync(`${folder}/objects`).filter((name) => /^(?:tmp_objdir|incoming)-/.test(name))

/** Objects in the folder by which git estimates the number of loose objects. */
export const scatter = (folder: string): void => {
  mkdirSync(join(folder, 'objects/17'), { recursive: true })
  for (let at = 0, found = 0; found < 30; at++) {
    const blob = `blob ${String(at).length}\0${at}`
    const name = createHash('sha1').update(blob).digest('hex')
    if (!name.startsWith('17')) continue
    writeFileSync(join(folder, 'objects/17', name.slice(2)), deflateSync(blob))
    found++
  }
}

export interface Scene {
  allot: ServedGit
  driver: StorageDriver
  alice: Person
  url: (path: string) => string
}

export const scene = async (options: Partial<AllotOptions> = {}, driver = memory()): Promise<Scene> => {
  const allot = await startGit({ driver, ...options })
  const alice = await allot.person('alice')
  return { allot, driver, alice, url: (path) => `${allot.base}/${path}.git` }
}
