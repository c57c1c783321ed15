import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { LRUCache } from 'lru-cache'
import { ClientBudget } from '../client-budget.ts'
import { ifMissing, REASON_IN_LOG } from '../disk.ts'
import { AllotError } from '../errors.ts'
import { folderOf } from './folders.ts'
import {
  announce,
  configuration,
  type GitProcess,
  type ProcessLimits,
  type WriteListener,
} from './process.ts'
import type { GitProcesses, Program } from './processes.ts'

/** Notified about each run of git, so that the size of the repository is counted. */
export interface MaintenanceListener extends WriteListener {
  /**
   * Called after git has ended.
   * @param isCleaned as in {@link GitProcesses.isCleaned}
   */
  finished(isCleaned: boolean): Promise<void>
}

/** Of the two runs of git that a clean-up takes: the first one deletes no object, and pushes go on. */
export interface CleanUpListeners {
  readonly beside: MaintenanceListener
  /** Its `started` waits for pushes, and makes others wait. */
  readonly alone: MaintenanceListener
}

interface MaintenanceOptions {
  readonly directory: string
  readonly processes: GitProcesses
  readonly limits: ProcessLimits
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
}

/**
 * `git gc` moves unreachable objects into a cruft pack. Its commit-graph would have no changed paths.
 */
const GC = ['gc.cruftPacks=true', 'gc.autoDetach=false', 'gc.writeCommitGraph=false']
/**
 * What was stored later stays: objects that git has just written, and that nothing refers to yet. The time is
 * that of the object, not when it became unused: a branch of older objects is gone with the next clean-up
 * after its deletion, and a push that builds on it without sending it is refused.
 */
const EXPIRY = '1.hour.ago'
/** Milliseconds for which a git that deletes objects may run, and one that counts them. */
export const MAX_ALONE_MS = 240_000
/** Milliseconds for which a repository is not cleaned up again, when nothing more has become unused. */
const PAUSE_MS = 600_000
/** Milliseconds after which a commit-graph is tried again that could not be written. */
const RETRY_MS = 3_600_000
/** Repositories of which either is remembered. */
const MAX_REMEMBERED = 10_000
/** lru-cache would keep each time for a millisecond. */
const CLOCK = { perf: { now: () => Date.now() }, ttlResolution: 0 }

/** A graph in parts could name commits that `git gc` has deleted. */
const GRAPH = ['commit-graph', 'write', '--reachable', '--changed-paths', '--no-progress', '--split=replace']

/**
 * Work on repositories: a clean-up, and in the background, one at a time, `git gc` and the commit-graph with
 * the changed paths of each commit, which let a search of the last commit of a file skip the commits that did
 * not change it (git-commit-graph, "--changed-paths").
 */
export class Maintenance {
  readonly #options: MaintenanceOptions
  /** Repositories whose commit-graph could not be written: that would fail again each time. */
  readonly #failed = new LRUCache<number, true>({ max: MAX_REMEMBERED, ...CLOCK, ttl: RETRY_MS })
  /** How many objects the last clean-up of a repository has left: most likely, they are too young. */
  readonly #left = new LRUCache<number, number>({ max: MAX_REMEMBERED, ...CLOCK, ttl: PAUSE_MS })
  readonly #turns = new ClientBudget({
    slots: 1,
    queue: 100,
    queuePerClient: 10,
    maxWaitMs: 60_000,
    message: 'other repositories are being cleaned up: try again',
  })
  /** A clean-up of a repository counts what the one before it has left. */
  readonly #repositories = new ClientBudget({
    slots: 100,
    slotsPerPlace: 1,
    queue: 100,
    maxWaitMs: 60_000,
    message: 'the repository is being cleaned up: try again',
  })

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  /**
   * Does what a repository needs, unless a maintenance runs already or the server is busy.
   * @param size bytes of the repository
   */
  async run(id: number, size: number, listener: MaintenanceListener): Promise<void> {
    const folder = folderOf(this.#options.directory, id)
    const isGcNeeded = await needsGc(folder)
    const isGraphNeeded = !this.#failed.has(id) && size >= MIN_SIZE && (await needsGraph(folder, size))
    if (!(isGcNeeded || isGraphNeeded) || !this.mayRun()) return
    await this.#turns.run('', async () => {
      // Pushes go on meanwhile, so it deletes no object: one may get a reference again (git-gc, "NOTES").
      if (isGcNeeded && !(await this.#succeeds(id, 'gc', gc('--no-prune'), listener))) return
      if (size < MIN_SIZE || this.#options.closing.aborted) return
      if (!(await this.#succeeds(id, 'commit-graph', [...configuration(), ...GRAPH], listener)))
        this.#failed.set(id, true)
    })
  }

  /** Whether no maintenance runs and the server is not busy. */
  mayRun(): boolean {
    const { closing, processes } = this.#options
    return this.#turns.running() === 0 && !closing.aborted && !processes.isBusy()
  }

  /**
   * Deletes the objects that nothing refers to and that are an hour old, when it is the turn of the client.
   * No push may run meanwhile: git would also delete an object that a push has found to be there and not
   * stored again. So that pushes wait for a short time only, everything is packed before, beside them.
   * @returns whether references reach every object that is left
   * @throws AllotError unavailable when others take too long, or git fails
   */
  cleanUp(id: number, client: string, listeners: CleanUpListeners): Promise<boolean> {
    return this.#repositories.run(client, () => this.#cleanUp(id, client, listeners), { place: String(id) })
  }

  async #cleanUp(id: number, client: string, { beside, alone }: CleanUpListeners): Promise<boolean> {
    const folder = folderOf(this.#options.directory, id)
    // Counts take as long as the repository is large: other clients' turns do not wait for them.
    const unused = await this.#unusedIn(id, client)
    if (unused === 0 || this.#left.get(id) === unused) return unused === 0
    const run = async (args: string[], listener: MaintenanceListener, timeout?: number) => {
      if (!(await this.#succeeds(id, 'gc', args, listener, timeout, client)))
        throw new AllotError('unavailable', FAILED)
    }
    await this.#turns.run(client, async () => {
      const isPacked = (await packsIn(folder)).length > 0
      if (isPacked) await run(gc('--no-prune'), beside)
      const expire = isPacked
        ? repack(await wholePacksIn(folder))
        : [...configuration(), 'prune', `--expire=${EXPIRY}`]
      await run(expire, withoutGraph(folder, alone), MAX_ALONE_MS)
    })
    const left = await this.#unusedIn(id, client)
    this.#left.set(id, left)
    return left === 0
  }

  /**
   * How many objects there are that no reference reaches; 0 when all are reached.
   * @throws AllotError unavailable when the repository is damaged, or so large that git takes too long
   */
  async #unusedIn(id: number, client: string): Promise<number> {
    const stored = await this.#output(id, 'count-objects', ['-v'], client)
    const reached = ['--all', '--objects', '--count', '--use-bitmap-index']
    const count = Number(await this.#output(id, 'rev-list', reached, client))
    const counts = stored.matchAll(/^(?:count|in-pack): (\d+)$/gm)
    return [...counts].reduce((sum, [, objects]) => sum + Number(objects), 0) - count
  }

  async #succeeds(
    id: number,
    program: 'gc' | 'commit-graph',
    args: readonly string[],
    listener: MaintenanceListener,
    timeout = this.#options.limits.timeout,
    client = 'gc',
  ): Promise<boolean> {
    const child = await this.#start(id, program, args, client, timeout)
    await announce(child, listener)
    child.stdin.end('\n')
    child.stdout.resume()
    const { code } = await child.ended
    await listener.finished(await this.#options.processes.isCleaned(child))
    return code === 0
  }

  async #output(
    id: number,
    program: 'count-objects' | 'rev-list',
    args: readonly string[],
    client: string,
  ): Promise<string> {
    const child = await this.#start(id, program, [...configuration(), program, ...args], client, MAX_ALONE_MS)
    child.stdin.end()
    const output = await text(child.stdout)
    if ((await child.ended).code !== 0) throw new AllotError('unavailable', FAILED)
    return output
  }

  #start(
    id: number,
    program: Program,
    args: readonly string[],
    client: string,
    timeout: number | undefined,
  ): Promise<GitProcess> {
    const { directory, processes, closing, limits } = this.#options
    const whose = { protocol: undefined, client, signal: closing }
    const all = [`--git-dir=${folderOf(directory, id)}`, ...args]
    // git writes no output while it works, so only the deadline applies.
    return processes.start(id, program, all, whose, { ...limits, timeout, idleTimeout: timeout })
  }
}

const gc = (...more: readonly string[]): string[] => [...configuration(...GC), 'gc', '--quiet', ...more]

/** Deletes what is old, and packs what no whole pack has; whole packs stay as they are. */
const repack = (wholePacks: readonly string[]): string[] => {
  const kept = wholePacks.map((name) => `--keep-pack=${name}`)
  return [...configuration(), 'repack', '-dlq', '--cruft', `--cruft-expiration=${EXPIRY}`, ...kept]
}

/**
 * Deletes the commit-graph, which could name commits that git is about to delete: the next search of a
 * history, or push, has it written again.
 */
const withoutGraph = (folder: string, listener: MaintenanceListener): MaintenanceListener => ({
  started: async (pid) => {
    await listener.started(pid)
    try {
      for (const name of ['commit-graph', 'commit-graphs'])
        await rm(join(folder, 'objects/info', name), { recursive: true, force: true })
    } catch (error) {
      await listener.finished(true)
      throw error
    }
  },
  finished: (isCleaned) => listener.finished(isCleaned),
})

const FAILED = `git could not clean up the repository${REASON_IN_LOG}`

const MIB = 1024 * 1024

/**
 * Bytes of a repository whose searches are worth a commit-graph, and growth in bytes and in parts after which
 * it is written again.
 */
const [MIN_SIZE, MIN_GROWTH, MIN_SHARE] = [4 * MIB, MIB, 1 / 64]

/** Whether much was pushed since the commit-graph was written. */
const needsGraph = async (folder: string, size: number): Promise<boolean> => {
  const objects = join(folder, 'objects')
  const graph = await stat(join(objects, 'info/commit-graphs/commit-graph-chain')).catch(ifMissing(undefined))
  if (graph === undefined) return true
  const packs = await Promise.all(
    (await filesIn(join(objects, 'pack'))).map((name) =>
      stat(join(objects, 'pack', name)).catch(ifMissing(undefined)),
    ),
  )
  const newer = packs.map((pack) => (pack !== undefined && pack.mtimeMs > graph.mtimeMs ? pack.size : 0))
  return newer.reduce((sum, bytes) => sum + bytes, 0) >= Math.max(MIN_GROWTH, size * MIN_SHARE)
}

const packsIn = async (folder: string): Promise<string[]> =>
  (await filesIn(join(folder, 'objects/pack'))).filter((name) => name.endsWith('.pack'))

/**
 * Those that have all that their objects lead to: git writes a bitmap for no others. In a pack of a push, an
 * object that is new, and unused already, can lead to old ones, which git deletes unless it reads the pack.
 */
const wholePacksIn = async (folder: string): Promise<string[]> =>
  (await filesIn(join(folder, 'objects/pack')))
    .filter((name) => name.startsWith('pack-') && name.endsWith('.bitmap'))
    .map((name) => name.replace(/bitmap$/, 'pack'))

const filesIn = (folder: string): Promise<string[]> => readdir(folder).catch(ifMissing<string[]>([]))

/**
 * The limits of `git gc --auto`. Like git, estimates the number of loose objects by one of their 256 folders.
 */
const [MAX_PACKS, MAX_LOOSE_IN_FOLDER] = [50, 6700 / 256]

const needsGc = async (folder: string): Promise<boolean> => {
  if ((await packsIn(folder)).length > MAX_PACKS) return true
  return (await filesIn(join(folder, 'objects/17'))).length > MAX_LOOSE_IN_FOLDER
}
