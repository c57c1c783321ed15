/** A command line that a client sends, such as `git-upload-pack '/alice/app.git'`. */
export interface CommandLine {
  readonly program: string
  /** Owner and name of the repository that the first argument names; undefined when it names none. */
  readonly repository: { readonly owner: string; readonly name: string } | undefined
  /** The arguments after the first. */
  readonly rest: readonly string[]
}

/** Longest command line: names of owners and repositories are short. */
const MAX_LENGTH = 4096

/** A word, bare or quoted as git and git-lfs quote. No name of an owner or a repository has a quote. */
const WORD = /'([^']*)'|"([^"]*)"|([^\s'"]+)/g

/** @returns undefined when a quote is not closed */
const wordsOf = (text: string): string[] | undefined => {
  if (text.replace(WORD, '').trim() !== '') return undefined
  return [...text.matchAll(WORD)].map(([, single, double, bare = '']) => single ?? double ?? bare)
}

const REPOSITORY = /^\/*([^/]+)\/+([^/]+?)(?:\.git)?\/*$/

/** @returns undefined for a text that is not a command */
export const parseCommand = (text: string): CommandLine | undefined => {
  if (text.length > MAX_LENGTH) return undefined
  const words = wordsOf(text)
  if (words === undefined || words.length === 0) return undefined
  // Clients may also send `git upload-pack`.
  const [program, path = '', ...rest] =
    words[0] === 'git' && words.length > 1 ? [`git-${words[1]}`, ...words.slice(2)] : (words as [string])
  const [, owner, name] = REPOSITORY.exec(path) ?? []
  const repository = owner === undefined || name === undefined ? undefined : { owner, name }
  return { program, repository, rest }
}
