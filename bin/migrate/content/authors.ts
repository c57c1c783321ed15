import type { MigratedContent } from '../../../lib/content/migrated-content.ts'
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
  readonly #content: MigratedContent
  readonly #known = new Map<string, Promise<Author>>()
  readonly #existing = new Map<number, Promise<number>>()
  #ghost: Promise<Author> | undefined

  constructor(names: Names, content: MigratedContent) {
    this.#names = names
    this.#content = content
  }

  /** @param login the name at the source */
  find(login: string): Promise<Author> {
    const name = this.#names.key(login)
    const known = this.#known.get(name) ?? this.#read(name)
    this.#known.set(name, known)
    return known
  }

  /** An author here by its id; 0 for a ghost. */
  known(id: number): Promise<number> {
    const known = this.#existing.get(id) ?? this.#names.exists(id).then((exists) => (exists ? id : 0))
    this.#existing.set(id, known)
    return known
  }

  async #read(name: string): Promise<Author> {
    const account = name === '' ? undefined : await this.#names.accountWithKey(name)
    if (account?.kind === 'user') return { id: account.id, name }
    this.#ghost ??= this.#content.ghost().then((id) => ({ id, name: '' }))
    return this.#ghost
  }
}
