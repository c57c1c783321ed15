import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { formatSize } from '../../lib/byte-sizes.ts'
import type { Config } from '../config/config.ts'
import { gitVersion } from '../server/git-version.ts'
import { failed, type Outcome, ok, warning } from './finding.ts'

/** 2.36 has no `git repack --cruft`, which clean-ups need, and older ones read no contents. */
const MIN_GIT = [2, 37]

const isBelow = ([major = 0, minor = 0]: number[], [minMajor, minMinor]: number[]): boolean =>
  major < minMajor! || (major === minMajor && minor < minMinor!)

export const checkGit = async (config: Config): Promise<Outcome> => {
  const version = await gitVersion(config)
  if (version === undefined) return ok('is not needed: repositories are turned off')
  const parts = version.split('.').map(Number)
  if (isBelow(parts, MIN_GIT))
    return failed(`${version} is too old: install git ${MIN_GIT.join('.')} or later`)
  return ok(version)
}

const MIN_FREE_BYTES = 100 * 1024 ** 2
const LOW_FREE_BYTES = 1024 ** 3

/**
 * Checks that a folder can be used, or created, and has space left.
 * @param option the option that names another folder
 */
export const checkFolder = async (folder: string, option: string): Promise<Outcome> => {
  try {
    const kind = await kindOf(folder)
    if (kind === 'other') return failed(`${folder} is not a folder: name another with ${option}`)
    const place = kind === 'folder' ? folder : await existingParent(folder)
    await access(place, constants.R_OK | constants.W_OK | constants.X_OK)
    const { bavail, bsize } = await statfs(place)
    const free = bavail * bsize
    const space = `${formatSize(free)} free`
    if (free < LOW_FREE_BYTES)
      return (free < MIN_FREE_BYTES ? failed : warning)(`${folder} has only ${space}: make space`)
    if (kind === 'absent') return ok(`${folder} does not exist yet: allot serve creates it (${space})`)
    if (await isOpenToOthers(folder))
      return warning(`other users can open ${folder}: run chmod 700 ${folder}`)
    return ok(`${folder} (${space})`)
  } catch (error) {
    return failed(`${folder} cannot be used: ${accessFault(error)}`)
  }
}

/** Whether other users can open a folder or a file. */
export const isOpenToOthers = async (path: string): Promise<boolean> =>
  process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0

const accessFault = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'EACCES' || code === 'EROFS' ? 'this user may not write there' : message
}

const kindOf = async (path: string): Promise<'folder' | 'other' | 'absent'> => {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'other'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'absent'
    throw error
  }
}

const existingParent = async (path: string): Promise<string> => {
  const parent = dirname(resolve(path))
  return (await kindOf(parent)) === 'absent' ? existingParent(parent) : parent
}

/** Files of the store and of the process itself. */
const OWN_FILES = 300
const FILES_PER_GIT = 4

export const checkOpenFiles = ({ server, git, ssh }: Config): Outcome => {
  const report = process.report?.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const limit = Number(report?.userLimits?.open_files?.soft ?? Number.POSITIVE_INFINITY)
  const sshConnections = ssh.port === undefined ? 0 : ssh.maxConnections
  const needed = server.maxConnections + sshConnections + FILES_PER_GIT * git.maxConcurrent + OWN_FILES
  // The limit can be `unlimited`, which is not a number.
  if (!(limit < needed)) return ok(`up to ${Number.isFinite(limit) ? limit : 'any number'}`)
  return warning(
    `the limit is ${limit}, and max_connections and git need ${needed}: raise it with ulimit -n, or LimitNOFILE of systemd`,
  )
}
