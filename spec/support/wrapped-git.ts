import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runSync } from './child.ts'
import { temporaryDirectory } from './folder.ts'

/**
 * Writes a program that runs lines of `sh` and then git, with the same arguments and the PATH in `given`.
 * @returns its path
 */
export const wrappedGit = (lines: string, folder = temporaryDirectory()): string => {
  const path = join(folder, 'git')
  const git = runSync('sh', ['-c', 'command -v git']).trim()
  const script = `#!/bin/sh\ngiven=$PATH\nPATH='${process.env.PATH}'\n${lines}\nPATH=$given exec '${git}' "$@"\n`
  writeFileSync(path, script, { mode: 0o755 })
  return path
}
