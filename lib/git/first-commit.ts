import { gitignoreText, licenseText, readmeText, type TemplateNames } from './templates.ts'

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
