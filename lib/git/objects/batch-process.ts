import { AllotError } from '../../errors.ts'
import { configuration, ENVIRONMENT, type GitProcess, REUSE_OF_MEMORY, startProcess } from '../process.ts'
import type { NameEncoding } from './parse.ts'

/** Type and size of an object, with its id. */
export interface ObjectInfo {
  readonly id: string
  readonly type: 'commit' | 'tree' | 'blob' | 'tag'
  /** Bytes */
  readonly size: number
}

interface Answer extends ObjectInfo {
  readonly content: Buffer
}

interface Request {
  /** Bytes of the content that are kept in memory; undefined when only type and size are asked for. */
  readonly kept: number | undefined
  resolve(answer: Answer | undefined): void
  reject(error: Error): void
}

interface BatchOptions {
  readonly git: string
  /** Bytes of memory; undefined: not limited. */
  readonly maxMemory: number | undefined
  /** Whether git has `--batch-command`, which asks for types and for contents in one process. */
  readonly hasBatchCommand: boolean
}

/**
 * The object database of one repository, read by `git cat-file` processes that stay open (git-cat-file,
 * "BATCH OUTPUT"). An older git needs one process for types and one for contents.
 */
export class BatchProcess {
  readonly #info: Channel
  readonly #contents: Channel
  readonly #isOne: boolean

  private constructor(info: Channel, contents: Channel) {
    this.#info = info
    this.#contents = contents
    this.#isOne = info === contents
  }

  /** @throws AllotError unavailable when git is not installed */
  static async start(
    folder: string,
    { git, maxMemory, hasBatchCommand }: BatchOptions,
  ): Promise<BatchProcess> {
    const open = async (mode: string) => {
      const args = [...configuration(SMALL_CACHE), `--git-dir=${folder}`, 'cat-file', mode]
      const env = { ...ENVIRONMENT, ...REUSE_OF_MEMORY }
      return new Channel(await startProcess(args, { git, env, isDetached: false, maxMemory }))
    }
    if (hasBatchCommand) {
      const channel = await open('--batch-command')
      return new BatchProcess(channel, channel)
    }
    const info = await open('--batch-check')
    try {
      return new BatchProcess(info, await open('--batch'))
    } catch (error) {
      info.stop()
      throw error
    }
  }

  /**
   * @param expression names an object, as in gitrevisions; without line breaks
   * @param encoding `latin1` for an expression that has a character for each byte
   * @returns undefined when there is no such object
   * @throws BatchEnded when the process has ended
   */
  info(expression: string, encoding?: NameEncoding): Promise<ObjectInfo | undefined> {
    return this.#info.ask(this.#isOne ? `info ${expression}` : expression, undefined, encoding)
  }

  /**
   * The beginning of an object's content. git reads and sends all of it: ask for its size before.
   * @param kept bytes of the content that are kept; the rest is dropped as it arrives
   */
  async content(id: string, kept = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    return (await this.#contents.ask(this.#isOne ? `contents ${id}` : id, kept))?.content
  }

  get isAlive(): boolean {
    return this.#info.isAlive && this.#contents.isAlive
  }

  stop(): void {
    this.#info.stop()
    this.#contents.stop()
  }

  /** Resolves when no process runs. */
  async ended(): Promise<void> {
    await Promise.all([this.#info.ended, this.#contents.ended])
  }
}

/**
 * Several versions of a large folder do not stay in memory: copying them there takes longer than reading the
 * last one.
 */
export const SMALL_CACHE = 'core.deltaBaseCacheLimit=8m'

/** The process ended before it answered: it was killed, or stopped because it took too long. */
export class BatchEnded extends AllotError {
  /** Whether git does not know the option that it was started with. */
  readonly isOptionUnknown: boolean

  constructor(stderr: string) {
    super('unavailable', 'git ended before it had read the object: try again', {
      cause: new Error(`git cat-file: ${stderr}`),
    })
    this.isOptionUnknown = stderr.includes('unknown option')
  }
}

const HEADER = /^([0-9a-f]{40,64}) (commit|tree|blob|tag) (\d+)$/
const LINE_FEED = 10
const NOTHING = Buffer.alloc(0)

/** An object whose content arrives. */
interface Arriving {
  readonly info: ObjectInfo
  /** As many of its first bytes as are kept. */
  readonly content: Buffer
  /** Bytes that have arrived. */
  count: number
}

/**
 * One process, which answers its requests in their order. Each chunk is copied as it arrives, so that a large
 * content takes no long time at its end, and the cache keeps nothing else alive.
 */
class Channel {
  readonly #child: GitProcess
  readonly #requests: Request[] = []
  readonly ended: Promise<void>
  /** The beginning of a header whose end has not arrived. */
  #begun: Buffer = NOTHING
  #arriving: Arriving | undefined
  isAlive = true

  constructor(child: GitProcess) {
    this.#child = child
    child.stdout.on('data', (chunk: Buffer) => this.#add(chunk))
    this.ended = child.ended.then(({ stderr }) => {
      this.isAlive = false
      for (const { reject } of this.#requests.splice(0)) reject(new BatchEnded(stderr))
    })
  }

  ask(line: string, kept: number | undefined, encoding: NameEncoding = 'utf8'): Promise<Answer | undefined> {
    if (!this.isAlive) return Promise.reject(new BatchEnded('it has ended'))
    return new Promise((resolve, reject) => {
      this.#requests.push({ kept, resolve, reject })
      this.#child.stdin.write(`${line}\n`, encoding)
    })
  }

  stop(): void {
    this.isAlive = false
    this.#child.stop()
  }

  #add(chunk: Buffer): void {
    let bytes = this.#begun.length === 0 ? chunk : Buffer.concat([this.#begun, chunk])
    this.#begun = NOTHING
    while (bytes.length > 0)
      bytes =
        this.#arriving === undefined ? this.#takeHeader(bytes) : this.#takeContent(bytes, this.#arriving)
  }

  /** @returns the bytes after it */
  #takeHeader(bytes: Buffer): Buffer {
    const end = bytes.indexOf(LINE_FEED)
    if (end === -1) {
      this.#begun = bytes
      return NOTHING
    }
    const [, id, type, size] = HEADER.exec(bytes.toString('latin1', 0, end)) ?? []
    const info = id === undefined ? undefined : { id, type: type as ObjectInfo['type'], size: Number(size) }
    const kept = this.#requests[0]?.kept
    if (info !== undefined && kept !== undefined)
      this.#arriving = { info, content: Buffer.allocUnsafe(Math.min(kept, info.size)), count: 0 }
    else this.#requests.shift()?.resolve(info && { ...info, content: NOTHING })
    return bytes.subarray(end + 1)
  }

  /** @returns the bytes after it */
  #takeContent(bytes: Buffer, arriving: Arriving): Buffer {
    const { info, content, count } = arriving
    // A line feed follows the content.
    const missing = info.size + 1 - count
    if (count < content.length) bytes.copy(content, count)
    arriving.count += Math.min(missing, bytes.length)
    if (bytes.length >= missing) {
      this.#arriving = undefined
      this.#requests.shift()?.resolve({ ...info, content })
    }
    return bytes.subarray(missing)
  }
}
