import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { AllotError, invalid } from '../errors.ts'
import type { FilePlace } from '../files/index.ts'
import { files, repositories } from '../records/schema/index.ts'
import type { InstanceStorage } from './export.ts'
import type { ContentLine } from './format.ts'

/** Git data or a file that is being received. */
interface Incoming {
  /** Names this content in messages and tells its lines from others'. */
  readonly name: string
  /** Message for content that is not completed. */
  readonly incomplete: string
  write(part: Buffer): Promise<unknown>
  finish(head: string): Promise<void>
  abandon(): Promise<void>
}

/** Imports git data and files, one after another, whose records are saved before. */
export class ContentImport {
  readonly #storage: InstanceStorage
  #current: Incoming | undefined

  constructor(storage: InstanceStorage) {
    this.#storage = storage
  }

  /** @throws AllotError invalid when there is no record, or the content does not match it */
  async add(line: ContentLine): Promise<void> {
    this.#current ??= await ('repository' in line
      ? receiveRepository(this.#storage, line.repository)
      : receiveFile(this.#storage, line.file))
    if (this.#current.name !== nameOf(line)) this.end()
    if ('part' in line) await this.#current.write(line.part)
    else {
      await this.#current.finish('head' in line ? line.head : '')
      this.#current = undefined
    }
  }

  /** @throws AllotError invalid when a repository or a file is incomplete */
  end(): void {
    if (this.#current !== undefined) throw invalid(this.#current.incomplete)
  }

  /** Removes an incomplete repository or file. */
  async abandon(): Promise<void> {
    await this.#current?.abandon()
  }
}

const nameOf = (content: { repository: number } | { file: FilePlace }): string =>
  'repository' in content
    ? `repository ${content.repository}`
    : `file ${content.file.area} ${content.file.ownerId} ${content.file.name}`

const receiveRepository = async ({ driver, gitStorage }: InstanceStorage, id: number): Promise<Incoming> => {
  if (gitStorage === undefined)
    throw invalid(
      'the export contains git repositories, but repositories are turned off here: set the option repositories',
    )
  if ((await driver.read((tx) => repositories.get(tx, [id]))) === undefined)
    throw invalid(`the export has git data of repository ${id}, but no record of it`)
  const bundle = await gitStorage.importBundle(id)
  return {
    name: nameOf({ repository: id }),
    incomplete: `the HEAD of repository ${id} is missing`,
    write: (part) => bundle.write(part),
    finish: (head) =>
      bundle.finish(head).catch((cause) => {
        throw damaged(id, cause)
      }),
    abandon: () => bundle.abandon(),
  }
}

/** Errors of the system, such as a full disk or a missing git, stay as they are. */
const damaged = (id: number, cause: unknown): unknown => {
  if (cause instanceof AllotError || (cause instanceof Error && 'code' in cause)) return cause
  const message = `the git data of repository ${id} is damaged: ${(cause as Error).message}`
  return new AllotError('invalid', message, { cause })
}

const receiveFile = async ({ driver, fileStorage }: InstanceStorage, place: FilePlace): Promise<Incoming> => {
  const name = nameOf({ file: place })
  if (fileStorage === undefined)
    throw invalid('the export contains files, but there is no folder for them: set the option files')
  const { area, ownerId, name: stored } = place
  const file = await driver.read((tx) => files.get(tx, [area, ownerId, stored]))
  if (file === undefined) throw invalid(`the export has content of ${name}, but no record of it`)
  const content = new PassThrough({ highWaterMark: 1024 * 1024 })
  content.on('error', () => undefined)
  const staged = fileStorage.stage(content, { size: file.size, sha256: file.sha256 })
  staged.catch(() => undefined)
  return {
    name,
    incomplete: `the content of ${name} is cut short`,
    async write(part) {
      // `staged` rejects early when the content is too large.
      if (!content.write(part)) await Promise.race([once(content, 'drain'), staged])
    },
    async finish() {
      content.end()
      const file = await staged
      await file.synced
      await fileStorage.put(file, place)
    },
    async abandon() {
      content.destroy()
      await staged.then(
        (written) => fileStorage.discard(written),
        () => undefined,
      )
    },
  }
}
