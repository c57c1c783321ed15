import type { Names } from '../names/index.ts'

/** An author at the source, and here. */
export interface Author {
  /** Id of the account; for a ghost, an id that no account has. */
  readonly id: number
  /** The key of the account; empty for a ghost. */
  readonly name: string
}

/** Calls a function once for each argument. */
const once = <K, V>(work: (argument: K) => V): ((argument: K) => V) => {
  const known = new Map<K, V>()
  return (argument) => {
    if (!known.has(argument)) known.set(argument, work(argument))
    return known.get(argument)!
  }
}

/**
 * Finds the accounts of authors. An author who does not exist here is a ghost, also for later migrations
 * until it exists.
 * @param newGhost makes an id that no account will have
 */
export const authorsOf = (names: Names, newGhost: () => Promise<number>) => {
  const ghost = once(async (name: '') => ({ id: await newGhost(), name }))
  return {
    /** @param login the name at the source */
    find: once(async (login: string): Promise<Author> => {
      const name = names.key(login)
      const account = name === '' ? undefined : await names.accountWithKey(name)
      return account?.kind === 'user' ? { id: account.id, name } : ghost('')
    }),
    /** The key of an author here by its id; empty for a ghost. */
    keyOf: once((id: number) => names.keyOfId(id)),
  }
}
export type Authors = ReturnType<typeof authorsOf>
