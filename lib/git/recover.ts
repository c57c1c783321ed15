import { execFile } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { absentAs } from './disk.ts'

const exec = promisify(execFile)

/** Milliseconds that a git has to end by itself, and between two looks whether it has. */
const [GRACE, LOOK] = [10_000, 50]

/** What no git finishes any more: objects that were on their way, and locks that nobody holds. */
const LEFT = /^objects\/(?:(?:tmp_objdir-|incoming-)[^/]*|(?:pack|[0-9a-f]{2})\/tmp_[^/]*)$|\.lock$|^gc\.pid$/

/** Only while nothing else works on the repository. @param pid of the git that did, which may have outlived its server */
export const recover = async (folder: string, pid: number | null): Promise<void> => {
  if (pid !== null) await end(folder, pid)
  const left = await readdir(folder, { recursive: true, withFileTypes: true }).catch(absentAs([]))
  for (const { parentPath, name } of left) {
    const path = join(parentPath, name)
    if (LEFT.test(relative(folder, path))) await rm(path, { recursive: true, force: true })
  }
}

/** A number may be another process's by now: it is ended when it works on this very folder. */
const end = async (folder: string, pid: number): Promise<void> => {
  const until = performance.now() + GRACE
  for (let signal: NodeJS.Signals = 'SIGTERM'; (await commandOf(pid)).includes(folder); await pause(LOOK)) {
    if (performance.now() > until) signal = 'SIGKILL'
    try {
      process.kill(-pid, signal)
    } catch {
      return
    }
  }
}

/** The words that a process was started with; empty when there is none of that number. */
const commandOf = async (pid: number): Promise<string> => {
  if (process.platform === 'linux')
    return readFile(`/proc/${pid}/cmdline`, 'utf8')
      .then((words) => words.replaceAll('\0', ' '))
      .catch(() => '')
  return exec('ps', ['-o', 'args=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  )
}
