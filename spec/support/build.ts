import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runSync } from './child.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The options of Node with which `npm start` runs the program. */
export const startOptions = (): string[] => {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
    scripts: { start: string }
  }
  const [, options] = /^exec node (.*)dist\/bin\/allot\.js serve$/.exec(scripts.start)!
  return options!.split(' ').filter(Boolean)
}

/**
 * Builds the published program, without type declarations.
 * @returns its path
 */
export const buildProgram = (): string => {
  runSync('npm', ['run', 'prestart', '--silent'], { cwd: root })
  return `${root}dist/bin/allot.js`
}
