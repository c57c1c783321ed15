import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { folderOf, recoverRepository } from './folders.ts'
import type { GitProcess } from './process.ts'

interface RecoveryOptions {
  readonly directory: string
  /** Seconds: another server may write to a repository of a shared store. */
  readonly leftoverAge?: number
  readonly onError: (error: Error, fields: object) => void
}

/**
 * The processes of one repository. When a writer was stopped, what it left is removed as soon as no writer
 * runs. Invariant: no writer runs or starts during a recovery.
 */
export class RepositoryProcesses {
  readonly #options: RecoveryOptions
  readonly #id: number
  readonly #onUnused: () => void
  readonly #running = new Map<GitProcess, { readonly isWriter: boolean }>()
  #starting = 0
  #startingWriters = 0
  /** Whether a writer was stopped since the last recovery. */
  #isLeft = false
  #recovery: Promise<void> | undefined
  #recovered = Promise.resolve(true)

  /** @param onUnused called when nothing runs any more */
  constructor(id: number, options: RecoveryOptions, onUnused: () => void) {
    this.#id = id
    this.#options = options
    this.#onUnused = onUnused
  }

  get #folder(): string {
    return folderOf(this.#options.directory, this.#id)
  }

  /** Resolves at the end of the last recovery: with false when something is left. */
  get recovered(): Promise<boolean> {
    return this.#recovered
  }

  endings(): Promise<unknown>[] {
    const recovery = this.#recovery === undefined ? [] : [this.#recovery]
    return [...[...this.#running.keys()].map(({ ended }) => ended), ...recovery]
  }

  /** A writer waits for a recovery to end. */
  async start(isWriter: boolean, start: () => Promise<GitProcess>): Promise<GitProcess> {
    const writers = isWriter ? 1 : 0
    this.#starting++
    this.#startingWriters += writers
    try {
      while (writers > 0 && this.#recovery !== undefined) await this.#recovery
      await checkOnDisk(this.#folder)
      const child = await start()
      this.#register(child, isWriter)
      return child
    } finally {
      this.#starting--
      this.#startingWriters -= writers
      this.#recoverIfIdle()
    }
  }

  #register(child: GitProcess, isWriter: boolean): void {
    this.#running.set(child, { isWriter })
    void child.ended.then(({ cause, code }) => {
      this.#running.delete(child)
      // A git that is asked to end removes its own temporary files, but not those its children still write.
      if (isWriter && (cause !== 'exited' || code === null)) this.#isLeft = true
      this.#recoverIfIdle()
    })
  }

  #recoverIfIdle(): void {
    if (this.#recovery !== undefined) return
    const hasWriter =
      this.#startingWriters > 0 || [...this.#running.values()].some(({ isWriter }) => isWriter)
    if (this.#isLeft && !hasWriter) this.#recover()
    else if (this.#running.size + this.#starting === 0) this.#onUnused()
  }

  #recover(): void {
    const { leftoverAge, onError } = this.#options
    this.#isLeft = false
    this.#recovered = recoverRepository(this.#folder, null, leftoverAge).catch((error: Error) => {
      onError(error, { repository: this.#id })
      return false
    })
    this.#recovery = this.#recovered.then(() => {
      this.#recovery = undefined
      this.#recoverIfIdle()
    })
  }

  async stop(): Promise<void> {
    const running = [...this.#running.keys()]
    for (const child of running) child.stop()
    await Promise.all(running.map(({ ended }) => ended))
  }
}

/** @throws Error when a repository is not on the disk */
export const checkOnDisk = async (folder: string): Promise<void> => {
  await stat(join(folder, 'HEAD')).catch((cause) => {
    throw new Error(`the git data is not where it should be: ${folder}`, { cause })
  })
}
