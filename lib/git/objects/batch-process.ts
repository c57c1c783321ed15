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

/**
 * Several versions of a large folder do not stay in memory: copying them there takes longer than reading the
 * last one.
 */
export const SMALL_CACHE = 'core.deltaBaseCacheLimit=8m'

/** The process ended before it answered: it was killed, or stopped because it took too long. */
export class BatchEnded extends AllotError {
  constructor(stderr: string) {
    const message = stderr.includes('unknown option')
      ? 'the git of this server is too old: install git 2.37 or later'
      : 'git ended before it had read the object: try again'
    super('unavailable', message, { cause: new Error(`git cat-file: ${stderr}`) })
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

interface BatchOptions {
  readonly git: string
  /** Bytes of memory; undefined: not limited. */
  readonly maxMemory: number | undefined
}

/**
 * The object database of one repository, read by a `git cat-file` that stays open (git-cat-file, "BATCH
 * OUTPUT") and answers its requests in their order. Each chunk is copied as it arrives, so that a large
 * content takes no long time at its end, and the cache keeps nothing else alive.
 */
export class BatchProcess {
  readonly #child: GitProcess
  readonly #requests: Request[] = []
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>
  /** The beginning of a header whose end has not arrived. */
  #begun: Buffer = NOTHING
  #arriving: Arriving | undefined
  isAlive = true

  private constructor(child: GitProcess) {
    this.#child = child
    child.stdout.on('data', (chunk: Buffer) => this.#add(chunk))
    this.ended = child.ended.then(({ stderr }) => {
      this.isAlive = false
      for (const { reject } of this.#requests.splice(0)) reject(new BatchEnded(stderr))
    })
  }

  /** @throws AllotError unavailable when git is not installed */
  static async start(folder: string, { git, maxMemory }: BatchOptions): Promise<BatchProcess> {
    const args = [...configuration(SMALL_CACHE), `--git-dir=${folder}`, 'cat-file', '--batch-command']
    const env = { ...ENVIRONMENT, ...REUSE_OF_MEMORY }
    return new BatchProcess(await startProcess(args, { git, env, isDetached: false, maxMemory }))
  }

  /**
   * @param expression names an object, as in gitrevisions; without line breaks
   * @param encoding `latin1` for an expression that has a character for each byte
   * @returns undefined when there is no such object
   * @throws BatchEnded when the process has ended
   */
  info(expression: string, encoding?: NameEncoding): Promise<ObjectInfo | undefined> {
    return this.#ask(`info ${expression}`, undefined, encoding)
  }

  /**
   * The beginning of an object's content. git reads and sends all of it: ask for its size before.
   * @param kept bytes of the content that are kept; the rest is dropped as it arrives
   */
  async content(id: string, kept = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    return (await this.#ask(`contents ${id}`, kept))?.content
  }

  stop(): void {
    this.isAlive = false
    this.#child.stop()
  }

  #ask(line: string, kept: number | undefined, encoding: NameEncoding = 'utf8'): Promise<Answer | undefined> {
    if (!this.isAlive) return Promise.reject(new BatchEnded('it has ended'))
    return new Promise((resolve, reject) => {
      this.#requests.push({ kept, resolve, reject })
      this.#child.stdin.write(`${line}\n`, encoding)
    })
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
