import { execFile } from 'node:child_process'
import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import { formatSize } from '../../lib/byte-sizes.ts'
import type { Config } from '../config/config.ts'

/** The result of one check. */
export interface Finding {
  check: string
  status: 'ok' | 'warning' | 'failed'
  /** What was found, and what to do unless it is ok. */
  message: string
}

/** A finding of a check, by its status. */
export const finding = (check: string, status: Finding['status'], message: string): Finding => ({
  check,
  status,
  message,
})

/** Older versions read the configuration of the user, which can change what they do. */
const MIN_GIT = [2, 32]
/** Older versions do not sync references to the disk. */
const DURABLE_GIT = [2, 36]

const isBelow = ([major = 0, minor = 0]: number[], [minMajor, minMinor]: number[]): boolean =>
  major < minMajor! || (major === minMajor && minor < minMinor!)

export const checkGit = async ({ repositories }: Config): Promise<Finding> => {
  if (repositories === false) return finding('git', 'ok', 'is not needed: repositories are turned off')
  const { git } = repositories
  try {
    const { stdout } = await promisify(execFile)(git, ['--version'], { timeout: 10_000 })
    const [, version] = /(\d+\.\d+[\w.]*)/.exec(stdout) ?? []
    if (version === undefined) return finding('git', 'failed', `${git} is not git: it says ${stdout.trim()}`)
    const parts = version.split('.').map(Number)
    if (isBelow(parts, MIN_GIT))
      return finding('git', 'failed', `${version} is too old: install git ${MIN_GIT.join('.')} or later`)
    if (isBelow(parts, DURABLE_GIT))
      return finding(
        'git',
        'warning',
        `${version} does not sync references, so a power failure can lose a push: install ${DURABLE_GIT.join('.')} or later`,
      )
    return finding('git', 'ok', version)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'is not found' : `cannot be run (${message.split('\n')[0]})`
    return finding('git', 'failed', `${git} ${reason}: install git, or set git under [repositories]`)
  }
}

const MIN_FREE_BYTES = 100 * 1024 ** 2
const LOW_FREE_BYTES = 1024 ** 3

export const checkDataFolder = async (folder: string): Promise<Finding> => {
  const check = 'data folder'
  try {
    const exists = await isFolder(folder)
    if (exists === false)
      return finding(check, 'failed', `${folder} is not a folder: name another with --data`)
    const place = exists ? folder : await existingParent(folder)
    await access(place, constants.R_OK | constants.W_OK | constants.X_OK)
    const { bavail, bsize } = await statfs(place)
    const free = bavail * bsize
    if (free < LOW_FREE_BYTES) {
      const status = free < MIN_FREE_BYTES ? 'failed' : 'warning'
      return finding(check, status, `${folder} has only ${formatSize(free)} free: make space`)
    }
    if (!exists)
      return finding(
        check,
        'ok',
        `${folder} does not exist yet: allot serve creates it (${formatSize(free)} free)`,
      )
    if (await isOpenToOthers(folder))
      return finding(check, 'warning', `other users can open ${folder}: run chmod 700 ${folder}`)
    return finding(check, 'ok', `${folder} (${formatSize(free)} free)`)
  } catch (error) {
    return finding(check, 'failed', `${folder} cannot be used: ${accessFault(error)}`)
  }
}

const isOpenToOthers = async (folder: string): Promise<boolean> =>
  process.platform !== 'win32' && ((await stat(folder)).mode & 0o077) !== 0

const accessFault = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'EACCES' || code === 'EROFS' ? 'this user may not write there' : message
}

/** @returns undefined when nothing is there */
const isFolder = async (path: string): Promise<boolean | undefined> => {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const existingParent = async (path: string): Promise<string> => {
  const parent = dirname(resolve(path))
  return (await isFolder(parent)) === undefined ? existingParent(parent) : parent
}

const CLOCK_YEARS = { first: 2025, last: 2100 }

export const checkClock = (now = new Date()): Finding => {
  const year = now.getUTCFullYear()
  const isSane = year >= CLOCK_YEARS.first && year < CLOCK_YEARS.last
  const advice = ': set the clock, since tokens, sessions and certificates depend on it'
  return finding('clock', isSane ? 'ok' : 'failed', `${now.toISOString()}${isSane ? '' : advice}`)
}

/** Files of the store and of the process itself. */
const OWN_FILES = 300
const FILES_PER_GIT = 4

export const checkOpenFiles = ({ server, git }: Config): Finding => {
  const report = process.report?.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const limit = Number(report?.userLimits?.open_files?.soft ?? Number.POSITIVE_INFINITY)
  const needed = server.maxConnections + FILES_PER_GIT * git.maxConcurrent + OWN_FILES
  // The limit can be `unlimited`, which is not a number.
  if (!(limit < needed))
    return finding('open files', 'ok', `up to ${Number.isFinite(limit) ? limit : 'any number'}`)
  return finding(
    'open files',
    'warning',
    `the limit is ${limit}, and max_connections and git need ${needed}: raise it with ulimit -n, or LimitNOFILE of systemd`,
  )
}
