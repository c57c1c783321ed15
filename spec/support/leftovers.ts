import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/*
 * A run of the specs has a folder, which is TMPDIR and HOME of all its processes. Their environment names it,
 * so that what a killed run or a failed spec has left behind is found, ended and removed.
 */

/** Not in TMPDIR: the path of a Unix socket is limited to about 100 bytes. */
const PARENT = '/tmp'
const PREFIX = 'allot-spec-'

/** Environment variable with the folder of the run. */
export const RUN_FOLDER = 'ALLOT_SPEC_RUN'

const environmentOf = (pid: number): string[] => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    // It has ended, or belongs to another user.
    return []
  }
}

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 200)
  } catch {
    return ''
  }
}

export interface Leftover {
  pid: number
  command: string
  /** The spec file that started it. */
  file: string
}

/** The compiler of tsx, which ends with the process that has started it. */
const COMPILER = /\/esbuild --service=/

/**
 * @param file only what this spec file has started
 * @returns the processes of a run besides this one; none on systems without `/proc`
 */
export const processesOf = (folder: string, file?: string): Leftover[] => {
  if (!existsSync('/proc/self/environ')) return []
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .flatMap((pid) => {
      const environment = environmentOf(pid)
      if (!environment.includes(`${RUN_FOLDER}=${folder}`)) return []
      const command = commandOf(pid)
      // A zombie has no command: it has ended.
      if (command === '' || COMPILER.test(command)) return []
      const starter = environment.find((line) => line.startsWith('ALLOT_SPEC_FILE='))?.slice(16)
      if (file !== undefined && file !== starter) return []
      return [{ pid, command, file: starter ?? 'the runner' }]
    })
}

/** @returns the processes, which are killed */
export const kill = (left: Leftover[]): Leftover[] => {
  for (const { pid } of left)
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  return left
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Removes what runs have left behind whose process is gone. */
const removeStaleRuns = (): void => {
  for (const name of readdirSync(PARENT)) {
    if (!name.startsWith(PREFIX)) continue
    const folder = join(PARENT, name)
    const file = join(folder, 'pid')
    if (!existsSync(file) || isRunning(Number(readFileSync(file, 'utf8')))) continue
    kill(processesOf(folder))
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Creates the folder of this run. */
export const createRunFolder = (): string => {
  removeStaleRuns()
  const folder = mkdtempSync(join(PARENT, PREFIX))
  // PostgreSQL and PgBouncer run as another user where the specs run as root.
  chmodSync(folder, 0o711)
  writeFileSync(join(folder, 'pid'), `${process.pid}`)
  return folder
}
