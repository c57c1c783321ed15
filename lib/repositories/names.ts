import { checkLength } from '../accounts/names.ts'
import { invalidMember } from '../errors.ts'

/** A repository by the names of its owner and itself. */
export interface RepositoryName {
  /** Name of the user or the organization. */
  owner: string
  /** Name of the repository. */
  name: string
}

const REPOSITORY_NAME = /^[A-Za-z0-9._-]+$/

/** Endings with another meaning in the path of a repository: git data, wiki, feeds. */
const RESERVED_ENDINGS = /\.(?:git|wiki|rss|atom)$/i

export const checkRepositoryName = (name: string): void => {
  checkLength(name, 100)
  if (!REPOSITORY_NAME.test(name))
    throw invalidMember(
      'name',
      "only letters, digits, '.', '_' and '-' are allowed in the name of a repository",
    )
  if (name === '.' || name === '..') throw invalidMember('name', `a repository cannot be named ${name}`)
  if (RESERVED_ENDINGS.test(name))
    throw invalidMember('name', 'the name of a repository must not end in .git, .wiki, .rss or .atom')
}
