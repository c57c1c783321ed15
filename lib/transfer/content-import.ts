import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { AllotError, invalid } from '../errors.ts'
import type { FilePlace, FileStore } from '../files/index.ts'
import type { StagedFile } from '../files/staging.ts'
import type { BundleImport } from '../git/bundle.ts'
import type { GitStore } from '../git/index.ts'
import { files, repositories } from '../records/schema/index.ts'
import type { StorageDriver } from '../storage/index.ts'
import type { TransferParts } from './export.ts'

/** Repositories that come in one after another, each in parts and at last its HEAD. */
export interface RepositoryImport {
  part(repository: number, part: Uint8Array): Promise<void>
  head(repository: number, head: string): Promise<void>
  /** @throws AllotError invalid when one has not come in whole. */
  end(): void
  /** Leaves nothing of a repository that has not come in whole. */
  abandon(): Promise<void>
}

export const createRepositoryImport = ({ driver, git }: TransferParts): RepositoryImport => {
  let current: { id: number; incoming: BundleImport } | undefined

  const arriving = async (id: number): Promise<BundleImport> => {
    if (current === undefined) {
      await checkKnown(driver, id)
      current = { id, incoming: await requireGit(git).receive(id) }
    }
    if (current.id !== id) throw headless(current.id)
    return current.incoming
  }

  return {
    part: async (id, part) => (await arriving(id)).write(part),
    async head(id, head) {
      const incoming = await arriving(id)
      await incoming.finish(head).catch((cause) => {
        throw unsound(id, cause)
      })
      current = undefined
    },
    end() {
      if (current !== undefined) throw headless(current.id)
    },
    async abandon() {
      await current?.incoming.abandon()
    },
  }
}

const headless = (id: number) => invalid(`the HEAD of repository ${id} is missing`)

const requireGit = (git: GitStore | undefined): GitStore => {
  if (git === undefined) throw invalid('here is git data, and repositories are turned off: turn them on')
  return git
}

const checkKnown = async (driver: StorageDriver, id: number): Promise<void> => {
  if ((await driver.read((tx) => repositories.get(tx, [id]))) === undefined)
    throw invalid(`there is no repository ${id} for this git data`)
}

/** A disk that is full and a git that is missing say so themselves. */
const unsound = (id: number, cause: unknown): unknown =>
  cause instanceof AllotError || (cause instanceof Error && 'code' in cause)
    ? cause
    : new AllotError(
        'invalid',
        `the git data of repository ${id} is not sound: ${(cause as Error).message}`,
        {
          cause,
        },
      )

/** Files that come in one after another, each in parts and at last that it is whole. */
export interface FileImport {
  part(place: FilePlace, part: Uint8Array): Promise<void>
  /** @throws AllotError invalid when it is not what its record says. */
  whole(place: FilePlace): Promise<void>
  /** @throws AllotError invalid when one has not come in whole. */
  end(): void
  /** Leaves nothing of a file that has not come in whole. */
  abandon(): Promise<void>
}

interface Arriving {
  readonly place: FilePlace
  readonly content: PassThrough
  readonly arrived: Promise<StagedFile>
}

export const createFileImport = ({ driver, files: disk }: TransferParts): FileImport => {
  let current: Arriving | undefined

  const arriving = async (place: FilePlace): Promise<Arriving> => {
    current ??= begin(requireFiles(disk), place, await expected(driver, place))
    if (wordsFor(current.place) !== wordsFor(place)) throw cutShort(current.place)
    return current
  }

  return {
    async part(place, part) {
      const { content, arrived } = await arriving(place)
      // What is too much is refused before all of it has come.
      if (!content.write(part)) await Promise.race([once(content, 'drain'), arrived])
    },
    async whole(place) {
      const { content, arrived } = await arriving(place)
      content.end()
      await requireFiles(disk).put(await arrived, place)
      current = undefined
    },
    end() {
      if (current !== undefined) throw cutShort(current.place)
    },
    async abandon() {
      current?.content.destroy()
      await current?.arrived.then(requireFiles(disk).discard, () => undefined)
    },
  }
}

const begin = (disk: FileStore, place: FilePlace, file: { size: number; sha256: string }): Arriving => {
  const content = new PassThrough({ highWaterMark: 1024 * 1024 })
  content.on('error', () => undefined)
  const arrived = disk.stage(content, file)
  arrived.catch(() => undefined)
  return { place, content, arrived }
}

const expected = async (
  driver: StorageDriver,
  place: FilePlace,
): Promise<{ size: number; sha256: string }> => {
  const file = await driver.read((tx) => files.get(tx, [place.area, place.keeper, place.name]))
  if (file?.state !== 'kept') throw invalid(`there is no ${wordsFor(place)} for this content`)
  return { size: file.size, sha256: file.sha256 }
}

const wordsFor = ({ area, keeper, name }: FilePlace): string => `file ${area} ${keeper} ${name}`

const cutShort = (place: FilePlace) => invalid(`the content of ${wordsFor(place)} is cut short`)

const requireFiles = (disk: FileStore | undefined): FileStore => {
  if (disk === undefined) throw invalid('here are files, and there is no folder for them')
  return disk
}
