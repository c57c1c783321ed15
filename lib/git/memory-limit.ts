import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { absent } from './run.ts'

/**
 * A command that runs git with a limit on its memory, which everything that git starts inherits. The limit is on data
 * (`ulimit -d`) and not on the address space, because git maps whole packs into it.
 * @param bytes of memory for each process; undefined: no limit
 * @throws AllotError unavailable when git is not installed: the shell that sets the limit would only say so to a person.
 */
export const withMemoryLimit = async (
  git: string,
  args: readonly string[],
  bytes: number | undefined,
): Promise<[command: string, args: readonly string[]]> => {
  if (bytes === undefined || process.platform === 'win32') return [git, args]
  await refuseMissing(git)
  return ['/bin/sh', ['-c', LIMITED, String(Math.ceil(bytes / 1024)), git, ...args]]
}

/** The arguments are never part of the script. Where a lower limit holds already, that one stays. */
const LIMITED = 'ulimit -d "$0" 2>/dev/null; exec "$@"'

const refuseMissing = async (git: string): Promise<void> => {
  const folders = git.includes('/') ? [''] : (process.env.PATH ?? '').split(delimiter)
  for (const folder of folders) if (await access(join(folder, git), constants.X_OK).then(yes, no)) return
  throw absent(git, Object.assign(new Error(`${git} was not found`), { code: 'ENOENT' }))
}

const yes = () => true
const no = () => false
