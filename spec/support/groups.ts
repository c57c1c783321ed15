import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * How many spec files a process runs, one after another. To start a process and to load the server takes 2 seconds of processor time,
 * which is longer than most files take. (`--test-isolation=none` does the same, from Node 22 on.)
 */
const FILES_IN_GROUP = 6

/** @returns the spec files below the folder whose path contains every word, relative to it; `a,b` matches either */
export const specFiles = (root: string, words: readonly string[]): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(
      (file) =>
        file.endsWith('.spec.ts') && words.every((word) => word.split(',').some((one) => file.includes(one))),
    )
    .sort()

/**
 * Writes a module for each group of files of the same folder. It declares each file as a suite of its own: its hooks
 * apply to its tests alone.
 * @param files relative to the root, sorted
 * @param folder where the modules are written
 * @returns the paths of the modules
 */
export const groupsOf = (root: string, files: readonly string[], folder: string): string[] => {
  const groups: string[][] = []
  for (const file of files) {
    const last = groups.at(-1)
    const isFull = last === undefined || last.length === FILES_IN_GROUP
    if (isFull || dirname(last[0] ?? '') !== dirname(file)) groups.push([file])
    else last.push(file)
  }
  return groups.map((group, index) => {
    const path = join(folder, `group-${index}.mjs`)
    const suites = group.map((file) => {
      const url = pathToFileURL(join(root, file)).href
      return `describe(${JSON.stringify(file)}, async () => {\n  await import(${JSON.stringify(url)})\n})\n`
    })
    writeFileSync(path, `import { describe } from 'node:test'\n\n${suites.join('\n')}`)
    return path
  })
}
