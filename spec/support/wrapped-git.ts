import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from './folder.ts'

/**
 * Writes a program that runs lines of `sh` and then git, with the same arguments.
 * @returns its path
 */
export const wrappedGit = (lines: string, folder = temporaryDirectory()): string => {
  const path = join(folder, 'git')
  writeFileSync(path, `#!/bin/sh\n${lines}\nexec git "$@"\n`, { mode: 0o755 })
  return path
}
