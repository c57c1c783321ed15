import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeBranch } from '../../lib/git/objects/loose.ts'
import { type NewObject, newObject, newTree } from '../../lib/git/objects/pack.ts'
import { MODES } from '../../lib/git/objects/parse.ts'

/*
 * Repositories with what a push refuses, as older ones and those that are copied in may have it.
 */

/** Objects, of which the last is the commit of `main`. */
export type Planted = readonly NewObject[]

/** Writes a repository in the place of an empty one. */
export const plant = (folder: string, objects: Planted): Promise<void> =>
  writeBranch(folder, 'main', objects.at(-1)!, objects)

const PERSON = 'Ada <ada@example.test> 1700000000 +0000'
const FILE = newObject('blob', Buffer.from('text\n'))

const treeOf = (names: readonly string[]): NewObject =>
  newTree(names.map((name) => ({ mode: MODES.file, name, id: FILE.id })))

const commitOf = (tree: NewObject, headers: string, message: string, parent?: NewObject): NewObject =>
  newObject(
    'commit',
    Buffer.from(
      `tree ${tree.id}\n${parent === undefined ? '' : `parent ${parent.id}\n`}author ${PERSON}\ncommitter ${PERSON}\n${headers}\n${message}\n`,
    ),
  )

/** A history of commits whose messages have so many bytes, of characters that have three. */
export const largeCommits = (count: number, bytes: number): Planted => {
  const tree = treeOf(['a'])
  const message = '€'.repeat(Math.ceil(bytes / 3))
  const commits: NewObject[] = []
  for (let at = 0; at < count; at++) commits.push(commitOf(tree, '', `${at}${message}`, commits.at(-1)))
  return [FILE, tree, ...commits]
}

/** A commit with so many lines of a header. */
export const longHeader = (name: string, lines: number): Planted => {
  const tree = treeOf(['a'])
  return [FILE, tree, commitOf(tree, `${name} x\n${' y\n'.repeat(lines)}`, 'Subject')]
}

/** A folder of so many files, each with a name of so many bytes. */
export const longNames = (count: number, bytes: number): Planted => {
  const tree = treeOf(Array.from({ length: count }, (_, at) => `${at}-${'€'.repeat(bytes / 3)}`))
  return [FILE, tree, commitOf(tree, '', 'Subject')]
}

/** A file so many folders deep, whose names have 250 bytes each. */
export const deepFile = (folders: number): Planted => {
  const trees = [treeOf(['a'])]
  for (let at = 0; at < folders; at++)
    trees.push(
      newTree([{ mode: MODES.tree, name: String.fromCharCode(97 + at).repeat(250), id: trees.at(-1)!.id }]),
    )
  return [FILE, ...trees, commitOf(trees.at(-1)!, '', 'Subject')]
}

/** Adds so many branches that lead to a commit, as git packs them. */
export const plantBranches = (folder: string, commit: string, count: number): Promise<void> => {
  const names = Array.from({ length: count }, (_, at) => `b${String(at).padStart(7, '0')}`)
  const lines = names.map((name) => `${commit} refs/heads/${name}\n`)
  return appendFile(
    join(folder, 'packed-refs'),
    `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`,
  )
}
