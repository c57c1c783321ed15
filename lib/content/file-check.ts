import * as v from 'valibot'
import type { FilePlace, FileStore } from '../files/index.ts'
import { readIfValid } from '../integrity/index.ts'
import { decodeValue } from '../records/layout.ts'
import { files, ledgerEntries, type StoredFile } from '../records/schema/index.ts'
import type { StorageDriver } from '../storage/index.ts'
import { lfsKey } from './lfs.ts'

/** A file that is not as its record says, or has none. */
export interface FileFault {
  readonly message: string
  /** To be run while nobody else is at work; answers false when only a person, or a backup, can mend it. */
  repair(): Promise<boolean>
}

/**
 * Holds every record against its file, and every file against its record. Others may add and remove files meanwhile: what
 * seems wrong is looked at again.
 */
export const checkFiles = async (
  driver: StorageDriver,
  disk: FileStore,
  found: (fault: FileFault) => void,
): Promise<void> => {
  const resumeDeletions = disk.holdDeletions()
  try {
    await driver.read(async (tx) => {
      for await (const json of files.allJson(tx)) {
        const file = validFileIn(json)
        if (file?.state !== 'kept') continue
        const size = await disk.size(file)
        if (size !== file.size && (await recordOf(driver, file))?.state === 'kept')
          found(missing(driver, disk, file, size))
      }
    })
    for await (const place of disk.all())
      if ((await recordOf(driver, place)) === undefined && (await disk.size(place)) !== undefined)
        found(stray(disk, place))
  } finally {
    await resumeDeletions()
  }
}

const idOf = ({ area, ownerId, name }: FilePlace): [string, number, string] => [area, ownerId, name]

const describePlace = ({ area, ownerId, name }: FilePlace): string => `the file ${area}/${ownerId}/${name}`

/** Undefined for a broken record, which the integrity check reports. */
const validFileIn = (json: Uint8Array): StoredFile | undefined => {
  try {
    const result = v.safeParse(files.options.schema, decodeValue(json))
    return result.success ? result.output : undefined
  } catch {
    return undefined
  }
}

const recordOf = async (driver: StorageDriver, place: FilePlace): Promise<{ state?: string } | undefined> => {
  const record = await driver.read((tx) => readIfValid(tx, files, idOf(place)))
  return record === 'broken' ? {} : record
}

const stray = (disk: FileStore, place: FilePlace): FileFault => ({
  message: `${describePlace(place)} is on the disk and belongs to nothing`,
  async repair() {
    await disk.remove(place)
    return true
  },
})

/** An LFS object that is lost is forgotten, so that the next push that has it brings it again. */
const missing = (
  driver: StorageDriver,
  disk: FileStore,
  file: StoredFile,
  size: number | undefined,
): FileFault => ({
  message: `${describePlace(file)} must have ${file.size} bytes, and ${size === undefined ? 'is not on the disk' : `has ${size}`}`,
  async repair() {
    if (file.area !== 'lfs') return false
    await driver.write(async (tx) => {
      await files.remove(tx, idOf(file))
      await ledgerEntries.remove(tx, ['lfs', lfsKey(file.ownerId, file.sha256)])
    })
    await disk.remove(file)
    return true
  },
})
