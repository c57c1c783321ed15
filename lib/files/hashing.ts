import { createHash } from 'node:crypto'
import { read } from 'node:fs'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { AllotError } from '../errors.ts'
import { startWorker, threadEnded, type WorkerMessage } from '../workers.ts'

/** Hashes that a file can have. */
export type Algorithm = 'md5' | 'sha1' | 'sha256' | 'sha512'

/** A part of a file to hash. The parts of a file are hashed in the order of the tasks. */
export interface HashTask {
  /** Number of the file, by which the thread finds the hashes of the parts before. */
  readonly file: number
  readonly algorithms: readonly Algorithm[]
  /** File descriptor, which threads of a process share. */
  readonly descriptor: number
  /** Position of the first byte, and of the first byte after the part. */
  readonly start: number
  readonly end: number
  /** Whether the digests are wanted. */
  readonly isLast: boolean
}

/** Bytes of one task, so that small files need not wait long for large ones. */
const PART_BYTES = 1024 * 1024
const MAX_THREADS = 4
/** Bytes that are read back at once where no thread runs, and hashed without a pause for other requests. */
const READ_BYTES = 256 * 1024
/** How long a thread waits for work before it ends, since it takes memory. */
const IDLE_MS = 10_000

/** The build puts the bundled worker beside the bundle that contains this module. */
const WORKER = new URL(import.meta.url.endsWith('.js') ? './files-worker.js' : './worker.ts', import.meta.url)

/**
 * Threads that hash files while they are written. The four digests of a package take as long as all other
 * work of an upload together, and would hold up other requests meanwhile. A thread reads what was written
 * back from the file, so no bytes are passed between threads. Threads are started on demand, and end when
 * they were idle for some seconds. When none starts, for example since the program was replaced by a newer
 * one while it runs, a file is hashed here once it is written.
 */
export class HashThreads {
  readonly #worker: URL
  readonly #threads: HashThread[] = []
  #files = 0

  /** @param worker module of the threads */
  constructor(worker = WORKER) {
    this.#worker = worker
  }

  /** Begins to hash a file. `finish` or `abandon` of the result must follow, before the file is closed. */
  begin(descriptor: number, algorithms: readonly Algorithm[]): FileHash {
    return new FileHash(this.#thread(), { file: this.#files++, descriptor, algorithms })
  }

  /** Ends the threads. What they had not hashed is hashed here when its file is complete. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.slice().map((thread) => thread.end()))
  }

  /** The thread with the fewest files; a new one when all have some. */
  #thread(): HashThread {
    const max = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1))
    const [least] = this.#threads.sort((left, right) => left.files - right.files)
    if (least !== undefined && (least.files === 0 || this.#threads.length >= max)) return least
    const thread = new HashThread(this.#worker, () => {
      const index = this.#threads.indexOf(thread)
      if (index !== -1) this.#threads.splice(index, 1)
    })
    if (thread.isAlive) this.#threads.push(thread)
    return thread
  }
}

/** The hashes of a file that is being written. */
export class FileHash {
  readonly #thread: HashThread
  readonly #file: Pick<HashTask, 'file' | 'descriptor' | 'algorithms'>
  /** Bytes that were written, and those of them that the thread was given to hash. */
  #written = 0
  #requested = 0
  /** Never rejects. */
  #running: Promise<void> | undefined
  #failure: unknown

  constructor(thread: HashThread, file: Pick<HashTask, 'file' | 'descriptor' | 'algorithms'>) {
    this.#thread = thread
    this.#file = file
    thread.hold()
  }

  /**
   * Call it after each write.
   * @param written bytes of the file that have been written
   */
  advance(written: number): void {
    this.#written = written
    // The thread has forgotten the file, and would begin anew with the next part.
    if (this.#failure !== undefined) return
    this.#running ??= this.#hashWritten()
      .catch((error) => {
        this.#failure = error
      })
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Resolves when at most `bytes` of what was written are not hashed, or hashing has failed. */
  async catchUp(bytes: number): Promise<void> {
    while (this.#written - this.#requested > bytes && this.#running !== undefined) await this.#running
  }

  /** @returns the digests of what was written, in the order of the algorithms */
  async finish(): Promise<string[]> {
    try {
      return await this.#hashRest().catch(() => hashHere(this.#file, this.#written))
    } finally {
      this.#thread.release()
    }
  }

  /** Stops hashing. Resolves when nothing reads the file any more. */
  async abandon(): Promise<void> {
    this.#written = this.#requested
    await this.#hashRest().catch(() => undefined)
    this.#thread.release()
  }

  async #hashRest(): Promise<string[]> {
    await this.#running
    if (this.#failure !== undefined) throw this.#failure
    await this.#hashWritten(PART_BYTES)
    return this.#hashPart(true)
  }

  /** @param rest bytes to leave at most */
  async #hashWritten(rest = 0): Promise<void> {
    while (this.#written - this.#requested > rest) await this.#hashPart(false)
  }

  #hashPart(isLast: boolean): Promise<string[]> {
    const start = this.#requested
    this.#requested = Math.min(this.#written, start + PART_BYTES)
    return this.#thread.run({ ...this.#file, start, end: this.#requested, isLast })
  }
}

const readAt = promisify(read)

/**
 * @returns the digests of the first `size` bytes of a file, without a thread.
 * @throws any error of reading it
 */
const hashHere = async (
  { descriptor, algorithms }: Pick<HashTask, 'descriptor' | 'algorithms'>,
  size: number,
): Promise<string[]> => {
  const hashes = algorithms.map((name) => createHash(name))
  const buffer = Buffer.allocUnsafeSlow(Math.min(size, READ_BYTES))
  for (let position = 0; position < size; ) {
    const { bytesRead } = await readAt(descriptor, buffer, 0, Math.min(READ_BYTES, size - position), position)
    if (bytesRead === 0) throw new Error('a file is shorter than what was written to it')
    for (const hash of hashes) hash.update(buffer.subarray(0, bytesRead))
    position += bytesRead
  }
  return hashes.map((hash) => hash.digest('hex'))
}

interface Waiting {
  readonly resolve: (digests: string[]) => void
  readonly reject: (error: Error) => void
}

/** A thread that runs tasks in the order in which they come. */
class HashThread {
  /** Undefined when it could not be started. */
  readonly #worker: Worker | undefined
  readonly #onEnd: () => void
  /** In the order of the tasks. */
  readonly #waiting: Waiting[] = []
  #idle: NodeJS.Timeout | undefined
  #ending: Promise<void> | undefined
  /** Number of files that are being hashed. */
  files = 0
  isAlive = true

  constructor(module: URL, onEnd: () => void) {
    this.#onEnd = onEnd
    try {
      const worker = startWorker({ file: module, maxMemoryMb: 32 })
      worker.on('message', (message: WorkerMessage<string[]>) => this.#receive(message))
      worker.on('error', (error) => this.end(error))
      worker.on('exit', () => this.end())
      worker.unref()
      this.#worker = worker
    } catch {
      // The system starts no more threads.
      this.isAlive = false
    }
  }

  /** Keeps the thread, and the process, while a file is being hashed. */
  hold(): void {
    clearTimeout(this.#idle)
    if (this.files++ === 0) this.#worker?.ref()
  }

  release(): void {
    if (--this.files > 0 || !this.isAlive) return
    this.#worker?.unref()
    this.#idle = setTimeout(() => this.end(), IDLE_MS).unref()
  }

  /** @throws AllotError unavailable when the thread ends; any error of reading the file */
  run(task: HashTask): Promise<string[]> {
    if (!this.isAlive) return Promise.reject(threadEnded())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#worker?.postMessage(task)
    })
  }

  #receive(message: WorkerMessage<string[]>): void {
    if (message.kind !== 'done' && message.kind !== 'failed') return
    const { resolve, reject } = this.#waiting.shift()!
    if (message.kind === 'done') resolve(message.output)
    else
      reject(
        message.code === undefined
          ? new Error(message.message)
          : new AllotError(message.code, message.message),
      )
  }

  /**
   * Resolves when the thread has ended. Tasks are rejected only then: until then, the thread may read their
   * files.
   */
  end(cause?: unknown): Promise<void> {
    this.#ending ??= this.#terminate(cause)
    return this.#ending
  }

  async #terminate(cause: unknown): Promise<void> {
    this.isAlive = false
    this.#onEnd()
    clearTimeout(this.#idle)
    await this.#worker?.terminate()
    for (const { reject } of this.#waiting.splice(0)) reject(threadEnded(cause))
  }
}
