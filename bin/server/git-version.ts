import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Config } from '../config/config.ts'

/**
 * @returns the version of the git that the server runs; undefined when it needs none
 * @throws Error that says what to do when the command is not found, or is not git
 */
export const gitVersion = async ({ repositories }: Config): Promise<string | undefined> => {
  if (repositories === false) return undefined
  const { git } = repositories
  const advice = 'install git, or set git under [repositories]'
  const { stdout } = await promisify(execFile)(git, ['--version'], { timeout: 10_000 }).catch((error) => {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'is not found' : `cannot be run (${message.split('\n')[0]})`
    throw new Error(`${git} ${reason}: ${advice}`)
  })
  const [, version] = /(?<!\d)(\d+\.\d+[\w.]*)/.exec(stdout) ?? []
  if (version === undefined) throw new Error(`${git} is not git, it says ${stdout.trim()}: ${advice}`)
  return version
}
