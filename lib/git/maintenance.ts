import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { ifMissing } from '../disk.ts'
import { folderOf } from './folders.ts'
import { announce, configuration, type ProcessLimits, type WriteListener } from './process.ts'
import type { EndListener, GitProcesses } from './processes.ts'

/** Notified about each run of git, so that the size of the repository is counted. */
export interface MaintenanceListener extends WriteListener, EndListener {}

interface MaintenanceOptions {
  readonly directory: string
  readonly processes: GitProcesses
  readonly limits: ProcessLimits
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
}

/**
 * What a maintenance may do: `graph` writes the commit-graph alone, for a search, which shall not begin a
 * long `git gc`.
 */
export type MaintenanceScope = 'all' | 'graph'

/** `git gc` moves unreachable objects into a cruft pack, and deletes them after two weeks. */
const GC = ['gc.cruftPacks=true', 'gc.autoDetach=false']

/**
 * Background work on repositories, one at a time: `git gc`, and the commit-graph with the changed paths of
 * each commit, which let a search of the last commit of a file skip the commits that did not change it
 * (git-commit-graph, "--changed-paths").
 */
export class Maintenance {
  readonly #options: MaintenanceOptions
  /**
   * Bytes of each repository when its commit-graph was written last, or else when this process first looked
   * at it.
   */
  readonly #graphSizes = new LRUCache<number, number>({ max: 10_000 })
  #isRunning = false

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  /**
   * Does what a repository needs, unless a maintenance runs already or the server is busy.
   * @param size bytes of the repository
   */
  async run(id: number, size: number, scope: MaintenanceScope, listener: MaintenanceListener): Promise<void> {
    const folder = folderOf(this.#options.directory, id)
    const isGcNeeded = scope === 'all' && (await needsGc(folder))
    const hasGraph = await hasChangedPaths(folder)
    const isGraphNeeded = this.#needsGraph(id, size, hasGraph) || (isGcNeeded && hasGraph)
    if (!(isGcNeeded || isGraphNeeded) || !this.#mayRun()) return
    this.#isRunning = true
    try {
      const gc = [...configuration(...GC), 'gc', '--quiet']
      if (isGcNeeded && !(await this.#succeeds(id, 'gc', gc, listener))) return
      if (!isGraphNeeded || this.#options.closing.aborted) return
      // After `git gc`, no part of the graph may name commits that it has deleted.
      const split = hasGraph && !isGcNeeded ? '--split' : '--split=replace'
      const write = ['commit-graph', 'write', '--reachable', '--changed-paths', '--no-progress', split]
      await this.#succeeds(id, 'commit-graph', [...configuration(), ...write], listener)
      // One that failed would fail with each push.
      this.#graphSizes.set(id, size)
    } finally {
      this.#isRunning = false
    }
  }

  /** @returns false when this process knows that the commit-graph is as it should be */
  mayLackGraph(id: number, size: number): boolean {
    return hasGrown(size, this.#graphSizes.get(id) ?? 0)
  }

  #mayRun(): boolean {
    return !this.#isRunning && !this.#options.closing.aborted && !this.#options.processes.isBusy()
  }

  #needsGraph(id: number, size: number, hasGraph: boolean): boolean {
    const before = this.#graphSizes.get(id) ?? (hasGraph ? size : 0)
    this.#graphSizes.set(id, Math.min(before, size))
    return hasGrown(size, before)
  }

  async #succeeds(
    id: number,
    program: 'gc' | 'commit-graph',
    args: readonly string[],
    listener: MaintenanceListener,
  ): Promise<boolean> {
    const { directory, processes, limits, closing } = this.#options
    const client = { protocol: undefined, client: 'gc', signal: closing }
    const all = [`--git-dir=${folderOf(directory, id)}`, ...args]
    // git writes no output while it works, so only the deadline applies.
    const child = await processes.start(id, program, all, client, { ...limits, idleTimeout: limits.timeout })
    await announce(child, listener)
    child.stdin.end('\n')
    child.stdout.resume()
    const { code } = await child.ended
    await processes.finish(id, child, listener)
    return code === 0
  }
}

const MIB = 1024 * 1024

/**
 * Bytes of a repository whose searches are worth a commit-graph, and growth in bytes and in parts after which
 * it is written again.
 */
const [MIN_SIZE, MIN_GROWTH, MIN_SHARE] = [4 * MIB, MIB, 1 / 64]

/**
 * Whether a repository is worth a new commit-graph.
 * @param before its bytes when the graph was written; 0 without one
 */
const hasGrown = (size: number, before: number): boolean =>
  size >= MIN_SIZE && size - before >= Math.max(MIN_GROWTH, size * MIN_SHARE)

/** Whether Allot has written a commit-graph, rather than `git gc`, whose graphs have no changed paths. */
const hasChangedPaths = async (folder: string): Promise<boolean> => {
  const exists = (path: string) =>
    access(join(folder, 'objects', 'info', path)).then(
      () => true,
      () => false,
    )
  return (await exists('commit-graphs/commit-graph-chain')) && !(await exists('commit-graph'))
}

/**
 * The limits of `git gc --auto`. Like git, estimates the number of loose objects by one of their 256 folders.
 */
const [MAX_PACKS, MAX_LOOSE_IN_FOLDER] = [50, 6700 / 256]

const needsGc = async (folder: string): Promise<boolean> => {
  const list = (path: string) => readdir(join(folder, 'objects', path)).catch(ifMissing<string[]>([]))
  const packs = (await list('pack')).filter((name) => name.endsWith('.pack'))
  return packs.length > MAX_PACKS || (await list('17')).length > MAX_LOOSE_IN_FOLDER
}
