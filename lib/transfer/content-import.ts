import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { AllotError, invalid } from '../errors.ts'
import type { FilePlace, FileStorage, StagedFile } from '../files/index.ts'
import type { GitStorage } from '../git/index.ts'
import type { BundleImport } from '../git/transfer.ts'
import { files, repositories } from '../records/schema/index.ts'
import type { StorageDriver } from '../storage/index.ts'
import type { TransferParts } from './export.ts'

/** A part of the git data of a repository or of a file, or the line that completes it. */
export type ContentLine =
  | { kind: 'part'; repository: number; part: Buffer }
  | { kind: 'head'; repository: number; head: string }
  | { kind: 'filePart'; place: FilePlace; part: Buffer }
  | { kind: 'fileWhole'; place: FilePlace }

/** Imports git data and files, whose records are saved before. */
export interface ContentImport {
  /** @throws AllotError invalid when there is no record, or the content does not match it */
  add(line: ContentLine): Promise<void>
  /** @throws AllotError invalid when a repository or a file is incomplete */
  end(): void
  /** Removes an incomplete repository or file. */
  abandon(): Promise<void>
}

export const createContentImport = ({ driver, gitStorage, fileStorage }: TransferParts): ContentImport => {
  const repositoryImport = createRepositoryImport(driver, gitStorage)
  const fileImport = createFileImport(driver, fileStorage)
  return {
    add(line) {
      if (line.kind === 'part') return repositoryImport.part(line.repository, line.part)
      if (line.kind === 'head') return repositoryImport.head(line.repository, line.head)
      return line.kind === 'filePart' ? fileImport.part(line.place, line.part) : fileImport.whole(line.place)
    },
    end() {
      repositoryImport.end()
      fileImport.end()
    },
    async abandon() {
      await repositoryImport.abandon()
      await fileImport.abandon()
    },
  }
}

/** One repository after another. */
const createRepositoryImport = (driver: StorageDriver, gitStorage: GitStorage | undefined) => {
  let current: { id: number; bundle: BundleImport } | undefined

  const bundleOf = async (id: number): Promise<BundleImport> => {
    if (current === undefined) {
      if (gitStorage === undefined)
        throw invalid(
          'the export contains git repositories, but repositories are turned off here: set the option repositories',
        )
      await checkRepository(driver, id)
      current = { id, bundle: await gitStorage.receive(id) }
    }
    if (current.id !== id) throw missingHead(current.id)
    return current.bundle
  }

  return {
    part: async (id: number, part: Uint8Array) => (await bundleOf(id)).write(part),
    async head(id: number, head: string) {
      const bundle = await bundleOf(id)
      await bundle.finish(head).catch((cause) => {
        throw damaged(id, cause)
      })
      current = undefined
    },
    end() {
      if (current !== undefined) throw missingHead(current.id)
    },
    abandon: async () => current?.bundle.abandon(),
  }
}

const missingHead = (id: number) => invalid(`the HEAD of repository ${id} is missing`)

const checkRepository = async (driver: StorageDriver, id: number): Promise<void> => {
  if ((await driver.read((tx) => repositories.get(tx, [id]))) === undefined)
    throw invalid(`git data of repository ${id}, but the file has no record of it`)
}

/** Errors of the system, such as a full disk or a missing git, stay as they are. */
const damaged = (id: number, cause: unknown): unknown => {
  if (cause instanceof AllotError || (cause instanceof Error && 'code' in cause)) return cause
  const message = `the git data of repository ${id} is damaged: ${(cause as Error).message}`
  return new AllotError('invalid', message, { cause })
}

interface CurrentFile {
  readonly place: FilePlace
  readonly content: PassThrough
  readonly staged: Promise<StagedFile>
}

/** One file after another. */
const createFileImport = (driver: StorageDriver, fileStorage: FileStorage | undefined) => {
  let current: CurrentFile | undefined

  const requireStore = (): FileStorage => {
    if (fileStorage === undefined)
      throw invalid('the export contains files, but there is no folder for them: set the option files')
    return fileStorage
  }
  const fileAt = async (place: FilePlace): Promise<CurrentFile> => {
    current ??= startFile(requireStore(), place, await expectedContent(driver, place))
    if (nameOf(current.place) !== nameOf(place)) throw cutShort(current.place)
    return current
  }

  return {
    async part(place: FilePlace, part: Uint8Array) {
      const { content, staged } = await fileAt(place)
      // `staged` rejects early when the content is too large.
      if (!content.write(part)) await Promise.race([once(content, 'drain'), staged])
    },
    async whole(place: FilePlace) {
      const { content, staged } = await fileAt(place)
      content.end()
      await requireStore().put(await staged, place)
      current = undefined
    },
    end() {
      if (current !== undefined) throw cutShort(current.place)
    },
    async abandon() {
      current?.content.destroy()
      await current?.staged.then(requireStore().discard, () => undefined)
    },
  }
}

interface ExpectedFile {
  size: number
  sha256: string
}

const startFile = (fileStorage: FileStorage, place: FilePlace, expected: ExpectedFile): CurrentFile => {
  const content = new PassThrough({ highWaterMark: 1024 * 1024 })
  content.on('error', () => undefined)
  const staged = fileStorage.stage(content, expected)
  staged.catch(() => undefined)
  return { place, content, staged }
}

const expectedContent = async (driver: StorageDriver, place: FilePlace): Promise<ExpectedFile> => {
  const file = await driver.read((tx) => files.get(tx, [place.area, place.ownerId, place.name]))
  if (file?.state !== 'kept') throw invalid(`content of ${nameOf(place)}, but the file has no record of it`)
  return { size: file.size, sha256: file.sha256 }
}

const nameOf = ({ area, ownerId, name }: FilePlace): string => `file ${area} ${ownerId} ${name}`

const cutShort = (place: FilePlace) => invalid(`the content of ${nameOf(place)} is cut short`)
