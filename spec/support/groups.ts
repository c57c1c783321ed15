import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isLong } from './long.ts'

/**
 * How many spec files a process runs, one after another. To start a process and to load the server takes
 * longer than most files take. (`--test-isolation=none` does the same, from Node 22 on.) Those of the long
 * suite take longer.
 */
const FILES_IN_GROUP = isLong ? 10 : 24

/**
 * The last groups have fewer files, so that no core is idle at the end: each has this share of the files that
 * remain.
 */
const SHARE = 1 / 10
const FEWEST_FILES = 5

/**
 * @returns the spec files below the folder whose path contains every word, relative to it; `a,b` matches
 * either. Those of the long suite are left out unless it runs.
 */
export const specFiles = (root: string, words: readonly string[]): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.spec.ts') && (isLong || !file.endsWith('.long.spec.ts')))
    .filter((file) => words.every((word) => word.split(',').some((one) => file.includes(one))))
    .sort()

/** Groups of neighbors. */
const split = (files: readonly string[]): string[][] => {
  const groups: string[][] = []
  for (let at = 0; at < files.length; at += groups.at(-1)!.length) {
    const share = Math.ceil((files.length - at) * SHARE)
    groups.push(files.slice(at, at + Math.max(FEWEST_FILES, Math.min(FILES_IN_GROUP, share))))
  }
  return groups
}

/**
 * Writes a module for each group of files.
 * @param files relative to the root, in the order in which they are run
 * @param folder where the modules are written
 * @returns the paths of the modules
 */
export const groupsOf = (root: string, files: readonly string[], folder: string): string[] =>
  split(files).map((group, index) => writeGroup(root, group, join(folder, `group-${index}.mjs`)))

/**
 * Writes a module that runs each file as a suite of its own.
 * @returns its path
 */
export const writeGroup = (root: string, files: readonly string[], path: string): string => {
  const url = (file: string) => pathToFileURL(join(root, file)).href
  const urls = Object.fromEntries(files.map((file) => [file, url(file)]))
  const lines = [
    // Before the test runner is loaded.
    `import ${JSON.stringify(url('support/untracked.mjs'))}`,
    `const { runFiles } = await import(${JSON.stringify(url('support/file.ts'))})`,
    `await runFiles(${JSON.stringify(urls, null, 2)})`,
  ]
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}
