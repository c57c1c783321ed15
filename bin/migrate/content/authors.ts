import type { Names } from '../names/index.ts'

/** An author at the source, and here. */
export interface Author {
  /** Id of the account; for a ghost, an id that no account has. */
  readonly id: number
  /** The key of the account; empty for a ghost. */
  readonly name: string
}

/**
 * Finds the accounts of authors. An author who does not exist here is a ghost, also for later migrations
 * until it exists.
 * @param newGhost makes an id that no account will have
 */
export const authorsOf = (names: Names, newGhost: () => Promise<number>) => {
  const known = new Map<string, Promise<Author>>()
  let ghost: Promise<Author> | undefined
  const find = async (name: string): Promise<Author> => {
    const account = await names.userWithKey(name)
    ghost ??= account ? undefined : newGhost().then((id) => ({ id, name: '' }))
    return account ? { id: account.id, name } : ghost!
  }
  return {
    /** @param login the name at the source */
    find(login: string): Promise<Author> {
      const name = names.key(login)
      const author = known.get(name) ?? find(name)
      known.set(name, author)
      return author
    },
    /** The key of an author here by its id; empty for a ghost. */
    keyOf: (id: number) => names.keyHere({ id }),
  }
}
export type Authors = ReturnType<typeof authorsOf>
