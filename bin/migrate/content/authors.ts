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
 */
export class Authors {
  readonly #names: Names
  readonly #newGhost: () => Promise<number>
  readonly #known = new Map<string, Promise<Author>>()
  readonly #keys = new Map<number, Promise<string>>()
  #ghost: Promise<Author> | undefined

  /** @param newGhost makes an id that no account will have */
  constructor(names: Names, newGhost: () => Promise<number>) {
    this.#names = names
    this.#newGhost = newGhost
  }

  /** @param login the name at the source */
  find(login: string): Promise<Author> {
    const name = this.#names.key(login)
    const known = this.#known.get(name) ?? this.#read(name)
    this.#known.set(name, known)
    return known
  }

  /** The key of an author here by its id; empty for a ghost. */
  keyOf(id: number): Promise<string> {
    const known = this.#keys.get(id) ?? this.#names.keyOfId(id)
    this.#keys.set(id, known)
    return known
  }

  async #read(name: string): Promise<Author> {
    const account = name === '' ? undefined : await this.#names.accountWithKey(name)
    if (account?.kind === 'user') return { id: account.id, name }
    this.#ghost ??= this.#newGhost().then((id) => ({ id, name: '' }))
    return this.#ghost
  }
}
