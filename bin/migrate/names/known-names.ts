import type { MigrationRecord } from '../../../lib/records/schema/index.ts'

/** Something that has a name at the source. */
export interface Named {
  /** Undefined when the source sends no ids: then it is followed by its name. */
  readonly id?: number | undefined
  readonly name: string
}

/**
 * The keys that accounts, or repositories, have in the migration log. The key is the first name at the
 * source, in lower case; of a repository the key of its owner, a slash and its first name.
 *
 * An example: a run copied the user `ann`, who has the id 7 at the source and 3 here. Later the source
 * renames her to `Anna`, and gives the name `ann` to another user, with the id 9. `know` reads the record of
 * the first run, and `learn` the users of today:
 *
 *     know({ copy: { id: 3 }, original: { id: 7, name: 'ann' } }, 'ann')
 *     learn({ id: 7, name: 'Anna' }, 'anna')
 *     learn({ id: 9, name: 'ann' }, 'ann')
 *     keyOf('anna')       // 'ann': her record is found by her id
 *     keyOf('ann')        // 'ann#9': the key of the other user, since 'ann' is taken
 *     nameOf('ann')       // 'Anna'
 *     isOther(3, 'ann#9') // true: account 3 is the copy of another user
 */
export class KnownNames {
  /** Keys by the ids at the source. */
  readonly #keysById = new Map<number, string>()
  /** Keys by the present names at the source, in lower case. */
  readonly #keysByName = new Map<string, string>()
  /** Keys by the ids of the copies. */
  readonly #keysByCopy = new Map<number, string>()
  /** Present names at the source by the keys. */
  readonly #namesByKey = new Map<string, string>()
  /** Ids at the source by the keys; undefined for a record of a source that sent no ids. */
  readonly #idsByKey = new Map<string, number | undefined>()

  /** Takes a record of an earlier run. */
  know({ copy, original }: MigrationRecord, key: string): void {
    this.#idsByKey.set(key, original?.id)
    if (copy?.id !== undefined) this.#keysByCopy.set(copy.id, key)
    if (original === undefined) return
    this.#keysById.set(original.id, key)
    this.#keysByName.set(original.name, key)
    this.#namesByKey.set(key, original.name)
  }

  /**
   * Takes a name that the source has now.
   * @param path the name in lower case; of a repository with the key of its owner before it
   */
  learn({ id, name }: Named, path: string): void {
    const known = id === undefined ? undefined : this.#keysById.get(id)
    const key = known ?? this.#newKey(id, path)
    if (id !== undefined) {
      this.#keysById.set(id, key)
      this.#idsByKey.set(key, id)
    }
    this.#keysByName.set(path, key)
    this.#namesByKey.set(key, withLastName(path, name))
  }

  #newKey(id: number | undefined, path: string): string {
    const other = this.#idsByKey.get(path)
    return id === undefined || other === undefined || other === id ? path : `${path}#${id}`
  }

  /** Remembers the copy that was created now. */
  claim(id: number, key: string): void {
    this.#keysByCopy.set(id, key)
  }

  /** @param path as for `learn` */
  keyOf(path: string): string {
    return this.#keysByName.get(path) ?? path
  }

  /** The present name at the source. */
  nameOf(key: string): string {
    return this.#namesByKey.get(key) ?? key
  }

  /** Whether an account or a repository here is the copy of another key. */
  isOther(id: number, key: string): boolean {
    const copy = this.#keysByCopy.get(id)
    return copy !== undefined && copy !== key
  }
}

/** A name, or a path `owner/name`, with another name at its end. */
export const withLastName = (path: string, name: string): string =>
  [...path.split('/').slice(0, -1), name].join('/')
