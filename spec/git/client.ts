import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { outcome } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import type { Person, TestServer } from '../support/test-server.ts'

export interface Outcome {
  code: number
  out: string
  err: string
}

const environment = {
  PATH: process.env.PATH,
  LC_ALL: 'C',
  HOME: temporaryDirectory(),
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.test',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.test',
}

/** Runs the git of a client. Does not throw when the command fails. */
export const attempt = async (
  folder: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Outcome> => {
  const options = { cwd: folder, env: { ...environment, ...env } }
  const { code, stdout, stderr } = await outcome('git', ['-c', 'init.defaultBranch=main', ...args], options)
  return { code: code ?? -1, out: stdout, err: stderr }
}

/**
 * Runs git.
 * @returns its output.
 * @throws Error when the command fails
 */
export const git = async (folder: string, ...args: string[]): Promise<string> => {
  const { code, out, err } = await attempt(folder, args)
  if (code !== 0) throw new Error(`git ${args.join(' ')} ended with ${code}: ${err}`)
  return out.trim()
}

/** The clone URL, with the credentials of a person. */
export const urlFor = (allot: TestServer, path: string, who?: Pick<Person, 'name' | 'token'>): string => {
  const url = new URL(`${allot.base}/${path}.git`)
  if (who !== undefined) Object.assign(url, { username: who.name, password: who.token })
  return url.href
}

/** A credential helper, which git asks after an answer with 401. */
export const helperFor = ({ name, token }: Pick<Person, 'name' | 'token'>): string =>
  `!f() { echo username=${name}; echo password=${token}; }; f`

/** A folder with a repository that has one commit on main. */
export const aCheckout = async (
  files: Record<string, string | Uint8Array> = { a: 'one\n' },
): Promise<string> => {
  const folder = temporaryDirectory()
  await git(folder, 'init', '--quiet')
  await commit(folder, files)
  return folder
}

/** @returns the id of the commit */
export const commit = async (folder: string, files: Record<string, string | Uint8Array>): Promise<string> => {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  await git(folder, 'add', '--all')
  await git(folder, 'commit', '--quiet', '--message', 'commit', '--allow-empty')
  return git(folder, 'rev-parse', 'HEAD')
}
