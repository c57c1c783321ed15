import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The absolute path of a file of the project. */
export const inRoot = (file: string): string => join(root, file)

/** The TypeScript files below a folder, as paths from the root. */
export const filesIn = (folder: string): string[] =>
  readdirSync(inRoot(folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(folder, file))

export const sourceOf = (file: string): string => readFileSync(inRoot(file), 'utf8')

/** The project's own files that a file imports, as paths from the root. */
export const importsOf = (file: string): string[] =>
  [...sourceOf(file).matchAll(/(?:from|import\(|import) ?'(\.[^']+)'/g)].map(([, path]) =>
    relative(root, resolve(root, dirname(file), path!)),
  )
