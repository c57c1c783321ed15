import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Makes the programs that are published, without what declares their types. @returns the command line */
export const buildProgram = (): string => {
  execFileSync('npm', ['run', 'prestart', '--silent'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  return `${root}dist/bin/allot.js`
}
