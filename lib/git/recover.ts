import { execFile } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ifMissing } from '../disk.ts'

/** Temporary objects and lock files, which only the git that made them would remove. */
const LEFTOVER =
  /^objects\/(?:(?:tmp_objdir-|incoming-)[^/]*|(?:pack|[0-9a-f]{2})\/tmp_[^/]*)$|\.lock$|^gc\.pid$/

/**
 * Removes what a killed git left in a repository. Must run only while nothing else works on the repository.
 * @param pid of that git, which is ended first if it has outlived its server
 */
export const recover = async (folder: string, pid: number | null): Promise<void> => {
  if (pid !== null) await endProcess(folder, pid)
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(ifMissing([]))
  for (const { parentPath, name } of entries) {
    const path = join(parentPath, name)
    if (LEFTOVER.test(relative(folder, path))) await rm(path, { recursive: true, force: true })
  }
}

const [GRACE_MS, POLL_MS] = [10_000, 50]

/** Another process may have the pid by now: ends only one whose command line names the folder. */
const endProcess = async (folder: string, pid: number): Promise<void> => {
  const deadline = performance.now() + GRACE_MS
  while ((await commandLineOf(pid)).includes(folder)) {
    try {
      process.kill(-pid, performance.now() > deadline ? 'SIGKILL' : 'SIGTERM')
    } catch {
      return
    }
    await sleep(POLL_MS)
  }
}

/** Empty when there is no such process. */
const commandLineOf = async (pid: number): Promise<string> => {
  try {
    if (process.platform === 'linux')
      return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')
    return (await promisify(execFile)('ps', ['-o', 'args=', '-p', String(pid)])).stdout
  } catch {
    return ''
  }
}
