import { checkLength } from '../accounts/names.ts'
import { invalid } from '../errors.ts'

const REPOSITORY_NAME = /^[A-Za-z0-9._-]+$/

/** Endings with another meaning in the path of a repository: git data, wiki, feeds. */
const RESERVED_ENDINGS = /\.(?:git|wiki|rss|atom)$/i

export const checkRepositoryName = (name: string): void => {
  checkLength(name, 100)
  if (!REPOSITORY_NAME.test(name))
    throw invalid("name: only letters, digits, '.', '_' and '-' are allowed in the name of a repository")
  if (name === '.' || name === '..') throw invalid(`name: a repository cannot be named ${name}`)
  if (RESERVED_ENDINGS.test(name))
    throw invalid('name: the name of a repository must not end in .git, .wiki, .rss or .atom')
}
