import type { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { namedCache } from '../../caches.ts'
import { AllotError, invalid } from '../../errors.ts'
import { folderOf } from '../folders.ts'
import { configuration, type GitProcess, type ProcessLimits, REUSE_OF_MEMORY } from '../process.ts'
import { GitProcesses, type ProcessesOptions, type ReadCommand } from '../processes.ts'
import { pathArguments, pathBytes } from '../text.ts'
import { type ObjectInfo, SMALL_CACHE } from './batch-process.ts'
import { ObjectPool } from './object-pool.ts'
import { OBJECT_ID } from './parse.ts'
import { type GitObject, type GitText, readTexts, textsOf } from './texts.ts'

interface ReaderOptions extends Omit<ProcessesOptions, 'maxConcurrentPerClient' | 'message'> {
  /** Maximum number of `git cat-file` processes. */
  readonly processes: number
  /** Bytes of objects that are kept in memory. */
  readonly objectCacheSize: number
  /** Bytes of responses made of objects that are kept in memory. */
  readonly responseCacheSize: number
  /** Bytes of an object that is read into memory as a whole. */
  readonly maxObjectSize: number
  /** Bytes of the output of a command that is read into memory as a whole. */
  readonly maxOutputSize: number
  /** Limits of commands whose output is sent as a download. */
  readonly download: Pick<ProcessLimits, 'idleTimeout' | 'timeout'>
}

/** One read: the repository, and the client that asks. */
export interface ReadAccess {
  readonly repository: number
  /** The account or the address whose budget of processes is used: `clientOf` (lib/clients.ts). */
  readonly client: string
  /**
   * Whether commands go on after the response. They use slots of their own, so that the client's next request
   * does not wait for them.
   */
  readonly isBackground?: boolean
}

/**
 * Environment in which git finds no program but its own, which are not in the PATH: an archive of a file with
 * `$Format:%G?$` and `export-subst` would start gpg on a signature that was pushed, and before 2.41 git does
 * not read the setting `gpg.program` there.
 */
const NO_PROGRAMS = process.platform === 'win32' ? {} : { PATH: '/dev/null' }

const ENVIRONMENT = { ...REUSE_OF_MEMORY, ...NO_PROGRAMS }

/** Slots for commands in the background, besides those for requests. */
const BACKGROUND_SHARE = 1 / 2

/** Key of an object in the cache. It has the repository, which a viewer must be able to read. */
const keyOf = ({ repository }: ReadAccess, id: string): string => `${repository}:${id}`

/** Bytes that each object needs in the cache, besides its content. */
const ENTRY_OVERHEAD = 300

/** Objects that git is asked for in one step, which takes some milliseconds. */
const ASKED_AT_ONCE = 500

/**
 * Reads repositories: objects by `git cat-file` processes that stay open, everything else by one command for
 * each read.
 */
export class GitReader {
  readonly #options: ReaderOptions
  readonly #pool: ObjectPool
  readonly #commands: GitProcesses
  readonly #background: GitProcesses
  /** One for each command that runs. */
  readonly #running = new Set<AbortController>()
  readonly #objects: LRUCache<string, GitObject>

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#pool = new ObjectPool(options)
    const message = 'too many clients are reading repositories: try again'
    const processes = { ...options, idleTimeout: options.timeout, message }
    this.#commands = new GitProcesses(processes, ENVIRONMENT)
    const maxConcurrent = Math.ceil(options.maxConcurrent * BACKGROUND_SHARE)
    this.#background = new GitProcesses({ ...processes, maxConcurrent }, ENVIRONMENT)
    this.#objects = namedCache(
      'git objects',
      new LRUCache<string, GitObject>({
        maxSize: options.objectCacheSize,
        maxEntrySize: options.objectCacheSize / 8,
        sizeCalculation: ({ content }) => content.length + ENTRY_OVERHEAD,
      }),
    )
  }

  /** Bytes of memory for responses made of objects, which its callers cache. */
  get responseCacheSize(): number {
    return this.#options.responseCacheSize
  }

  /** Bytes of the largest object that {@link GitReader.object} returns. */
  get maxObjectSize(): number {
    return this.#options.maxObjectSize
  }

  /**
   * Type and size of an object; undefined when it does not exist.
   * @param expression as in gitrevisions, made of checked names: git would run `:/text` over the whole
   * history
   * @param path below the object
   */
  async find(
    { repository, client }: ReadAccess,
    expression: string,
    path?: string,
  ): Promise<ObjectInfo | undefined> {
    if (`${expression}${path}`.includes('\n')) return undefined
    if (path === undefined) return this.#pool.use(repository, client, (batch) => batch.info(expression))
    const below = pathBytes(`${expression}:${path}`).toString('latin1')
    return this.#pool.use(repository, client, (batch) => batch.info(below, 'latin1'))
  }

  /** Types and sizes of objects, in the order of their ids; undefined for those that do not exist. */
  infos({ repository, client }: ReadAccess, ids: readonly string[]): Promise<(ObjectInfo | undefined)[]> {
    return this.#pool.use(repository, client, async (batch) => {
      const infos: (ObjectInfo | undefined)[] = []
      // Asking for thousands at once would delay the requests of others.
      for (let start = 0; start < ids.length; start += ASKED_AT_ONCE)
        infos.push(
          ...(await Promise.all(ids.slice(start, start + ASKED_AT_ONCE).map((id) => batch.info(id)))),
        )
      return infos
    })
  }

  /**
   * An object with its content.
   * @returns undefined when it does not exist
   * @throws AllotError invalid when it is larger than `maxObjectSize`
   */
  async object(access: ReadAccess, id: string): Promise<GitObject | undefined> {
    const key = keyOf(access, id)
    const known = this.#objects.get(key)
    if (known !== undefined || !OBJECT_ID.test(id)) return known
    const { maxObjectSize } = this.#options
    const read = await this.#pool.use(access.repository, access.client, async (batch) => {
      const info = await batch.info(id)
      if (info !== undefined && info.size > maxObjectSize)
        throw invalid(
          `the ${info.type} ${id} has ${info.size} bytes, and at most ${maxObjectSize} can be read at once`,
        )
      return info && { ...info, content: (await batch.content(id))! }
    })
    if (read !== undefined) this.#objects.set(key, read)
    return read
  }

  /**
   * The commits or the tags among some objects, in the order of their ids and once each. Invariant: what is
   * read and kept is bounded whatever was pushed, so the largest contents are cut, or not read at all.
   */
  async texts(access: ReadAccess, type: GitText['type'], ids: readonly string[]): Promise<GitText[]> {
    const wanted = [...new Set(ids)].filter((id) => OBJECT_ID.test(id))
    const known = wanted.flatMap((id) => this.#objects.get(keyOf(access, id)) ?? [])
    const isKnown = new Set(known.map(({ id }) => id))
    const missing = wanted.filter((id) => !isKnown.has(id))
    const read =
      missing.length === 0
        ? []
        : await this.#pool.use(access.repository, access.client, (batch) => readTexts(batch, type, missing))
    for (const object of read)
      if (object.content.length === object.size) this.#objects.set(keyOf(access, object.id), object)
    return textsOf(type, wanted, [...known, ...read])
  }

  /**
   * Starts a command whose output is streamed.
   * @param args of which those after `--` are paths
   * @param signal stops it, when its output is a download
   * @throws AllotError unavailable when too many run
   */
  async start(
    { repository, client, isBackground = false }: ReadAccess,
    command: ReadCommand,
    args: readonly string[],
    signal?: AbortSignal,
  ): Promise<GitProcess> {
    const folder = folderOf(this.#options.directory, repository)
    const given = pathArguments(args)
    const all = [...configuration(SMALL_CACHE), `--git-dir=${folder}`, command, ...given.args]
    const { timeout, maxMemory, download } = this.#options
    const limits =
      signal === undefined ? { idleTimeout: timeout, timeout, maxMemory } : { ...download, maxMemory }
    const closing = new AbortController()
    const context = { protocol: undefined, client, signal: signal ?? closing.signal }
    const commands = isBackground ? this.#background : this.#commands
    const child = await commands.start(repository, command, all, context, limits)
    this.#running.add(closing)
    void child.ended.then(() => this.#running.delete(closing))
    if (given.input.length > 0) child.stdin.write(given.input)
    return child
  }

  /**
   * Runs a command to its end.
   * @param signal stops the command, when its output is not needed any more
   * @returns its output; undefined when it fails, as for an object that does not exist
   * @throws AllotError invalid when the output is larger than `maxOutputSize`; unavailable when it takes too
   * long
   */
  async run(
    access: ReadAccess,
    command: ReadCommand,
    args: readonly string[],
    signal?: AbortSignal,
  ): Promise<Buffer | undefined> {
    const { maxOutputSize } = this.#options
    const child = await this.start(access, command, args)
    if (signal?.aborted) child.stop()
    signal?.addEventListener('abort', () => child.stop(), { once: true })
    child.stdin.end()
    const output = await readAtMost(child.stdout, maxOutputSize)
    if (output === undefined) {
      child.stop()
      throw invalid(`the answer would be larger than ${maxOutputSize} bytes: ask for less`)
    }
    return (await exitCodeOf(child)) === 0 ? output : undefined
  }

  /**
   * Runs a command, and yields its output as it comes: all that there is when it fails. Stops it when the
   * reader stops.
   * @throws AllotError unavailable when it takes too long
   */
  async *chunks(
    access: ReadAccess,
    command: ReadCommand,
    args: readonly string[],
    input = '',
  ): AsyncGenerator<Buffer> {
    const child = await this.start(access, command, args)
    child.stdin.end(input)
    try {
      yield* child.stdout as AsyncIterable<Buffer>
      await exitCodeOf(child)
    } finally {
      child.stop()
    }
  }

  /** As {@link run}: the lines of the output that are not empty; none when the command fails. */
  async lines(...command: Parameters<GitReader['run']>): Promise<string[]> {
    const output = await this.run(...command)
    return (output?.toString('utf8') ?? '').split('\n').filter((line) => line !== '')
  }

  /** Ends what reads a repository, before it is deleted. */
  async stop(repository: number): Promise<void> {
    const users = [this.#pool, this.#commands, this.#background]
    await Promise.all(users.map((user) => user.stop(repository)))
  }

  /** Ends commands; downloads end with their requests, which are over before. */
  async close(): Promise<void> {
    for (const running of this.#running) running.abort()
    await Promise.all([this.#pool.close(), ...this.#commands.endings(), ...this.#background.endings()])
  }
}

/** @throws AllotError unavailable when the process was stopped or killed */
const exitCodeOf = async ({ ended }: GitProcess): Promise<number> => {
  const { code, cause } = await ended
  if (cause === 'exited' && code !== null) return code
  throw new AllotError('unavailable', 'reading the repository took too long: ask for less, or try again')
}

/** @returns undefined when there is more */
const readAtMost = async (stream: Readable, limit: number): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += (chunk as Buffer).length
    if (size > limit) return undefined
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}
