import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

/** What `open-folder.mjs` does in another process or thread. */
export interface Opening {
  /**
   * `hold` opens the folder and keeps it open; `race` opens it, writes and closes it repeatedly, in several
   * threads at once.
   */
  mode: 'hold' | 'race'
  /** A path of the folder for each thread; they may be spelled differently. */
  locations: string[]
  /** Prefix of every key. */
  name?: string
  /** The module that exports `level`. */
  module: string
}

const OPENER = new URL('./open-folder.mjs', import.meta.url)

/** The built driver, where `spec/run.ts` has built it: it loads in a tenth of the time. */
const isBuilt = process.env.ALLOT_SPEC_PROGRAM !== undefined
const module = import.meta.resolve(
  isBuilt ? '../../dist/drivers/level/index.js' : '../../drivers/level/index.ts',
)

/** The command line of a process that opens a folder. */
export const commandFor = (opening: Omit<Opening, 'module'>): [command: string, ...args: string[]] => [
  process.execPath,
  ...(isBuilt ? [] : ['--import', import.meta.resolve('tsx')]),
  ...[fileURLToPath(OPENER), JSON.stringify({ module, ...opening })],
]

/** A thread that opens a folder. */
export const threadFor = (opening: Omit<Opening, 'module'>): Worker =>
  new Worker(OPENER, { workerData: { module, ...opening } })
