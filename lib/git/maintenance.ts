import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
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
 * `git gc` moves unreachable objects into a cruft pack, and deletes them after two weeks. Its commit-graph
 * would have no changed paths.
 */
const GC = ['gc.cruftPacks=true', 'gc.autoDetach=false', 'gc.writeCommitGraph=false']
/** A graph in parts could name commits that `git gc` has deleted. */
const GRAPH = ['commit-graph', 'write', '--reachable', '--changed-paths', '--no-progress', '--split=replace']

/**
 * Background work on repositories, one at a time: `git gc`, and the commit-graph with the changed paths of
 * each commit, which let a search of the last commit of a file skip the commits that did not change it
 * (git-commit-graph, "--changed-paths").
 */
export class Maintenance {
  readonly #options: MaintenanceOptions
  /** Repositories whose commit-graph could not be written: that would fail again each time. */
  readonly #failed = new Set<number>()
  #isRunning = false

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
    if (!(isGcNeeded || isGraphNeeded) || !this.#mayRun()) return
    this.#isRunning = true
    try {
      const gc = [...configuration(...GC), 'gc', '--quiet']
      if (isGcNeeded && !(await this.#succeeds(id, 'gc', gc, listener))) return
      if (size < MIN_SIZE || this.#options.closing.aborted) return
      if (!(await this.#succeeds(id, 'commit-graph', [...configuration(), ...GRAPH], listener)))
        this.#failed.add(id)
    } finally {
      this.#isRunning = false
    }
  }

  #mayRun(): boolean {
    return !this.#isRunning && !this.#options.closing.aborted && !this.#options.processes.isBusy()
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
    await processes.finish(child, listener)
    return code === 0
  }
}

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

const filesIn = (folder: string): Promise<string[]> => readdir(folder).catch(ifMissing<string[]>([]))

/**
 * The limits of `git gc --auto`. Like git, estimates the number of loose objects by one of their 256 folders.
 */
const [MAX_PACKS, MAX_LOOSE_IN_FOLDER] = [50, 6700 / 256]

const needsGc = async (folder: string): Promise<boolean> => {
  const list = (path: string) => filesIn(join(folder, 'objects', path))
  const packs = (await list('pack')).filter((name) => name.endsWith('.pack'))
  return packs.length > MAX_PACKS || (await list('17')).length > MAX_LOOSE_IN_FOLDER
}
