import { folderOf } from './folders.ts'
import { ENVIRONMENT } from './process.ts'
import { type RemoteOrigin, remoteEnvironment } from './remote-fetch.ts'
import { resultOf } from './run.ts'

/**
 * Shows that a repository has all that another one has, without a second copy of it: when the references are
 * equal, their ids name the same objects, and a check of these objects finds those that are missing or
 * damaged.
 */

/** Refs of pull requests are left out, as in a fetch. */
const MIGRATED = /^refs\/(?!pull\/|changes\/)/
/** The credentials are meant for one server only, and a connection that is silent for a minute is closed. */
const CONFIGURATION = ['http.followRedirects=false', 'http.lowSpeedLimit=1', 'http.lowSpeedTime=60']

/** Branches, tags and notes with the ids that they point to, and the branch that HEAD names. */
export type References = ReadonlyMap<string, string>

/** @throws Error with git's own message */
export const remoteReferences = (git: string, { url, authorization }: RemoteOrigin): Promise<References> =>
  listRemote(git, url, remoteEnvironment(authorization))

/** @throws Error with git's own message, when there is no such repository */
export const localReferences = (git: string, directory: string, id: number): Promise<References> =>
  listRemote(git, folderOf(directory, id), ENVIRONMENT)

const listRemote = async (
  git: string,
  from: string,
  env: Record<string, string | undefined>,
): Promise<References> => {
  const { code, output, stderr } = await resultOf(git, ['ls-remote', '--symref', from], {
    env,
    config: CONFIGURATION,
  })
  if (code !== 0) throw new Error(stderr.split('\n').at(-1) || `git ls-remote failed with ${code}`)
  const references = new Map<string, string>()
  for (const line of output.split('\n')) {
    const [target = '', name = ''] = line.split('\t')
    if (name === 'HEAD' && target.startsWith('ref: ')) references.set(name, target.slice('ref: '.length))
    if (MIGRATED.test(name) && !name.endsWith('^{}')) references.set(name, target)
  }
  return references
}

/** Complaints about the content of an object, which a sound copy of it has, too. */
const OF_CONTENT = /^((error|warning) in \w+ [0-9a-f]{40,64}|notice): /

/**
 * Reads every object.
 * @returns a line of git for each one that is missing or damaged
 */
export const damagedObjects = async (git: string, directory: string, id: number): Promise<string[]> => {
  const args = [`--git-dir=${folderOf(directory, id)}`, 'fsck', '--full', '--no-dangling', '--no-progress']
  // There is no deadline: the repository has no limit in size.
  const { code, output, stderr } = await resultOf(git, args)
  if (code === 0) return []
  const said = `${output}\n${stderr}`.split('\n').filter((line) => line !== '')
  const lines = said.filter((line) => !OF_CONTENT.test(line))
  if (code === null) return [...lines, 'git fsck was stopped']
  return said.length === 0 ? [`git fsck failed with ${code}`] : lines
}
