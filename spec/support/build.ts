import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Builds the published program, without type declarations. @returns its path */
export const buildProgram = (): string => {
  execFileSync('npm', ['run', 'prestart', '--silent'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  return `${root}dist/bin/allot.js`
}
