import fc from 'fast-check'
import type { LedgerKind, Visibility } from '../../lib/records/schema/index.ts'

/**
 * Everything that can be asked for, as plain objects. Accounts go by their names, repositories by their
 * numbers.
 */
export interface Model {
  accounts: Map<string, { id: number; visibility: Visibility; organization: boolean }>
  repositories: Map<number, Repo>
  entries: Map<string, Entry>
  /** `follower followed` */
  follows: Set<string>
}

export interface Repo {
  owner: string
  name: string
  private: boolean
  size: number
  stars: Set<string>
  watches: Set<string>
}

export interface Entry {
  kind: LedgerKind
  key: string
  size: number
  on: 'issue' | 'release' | undefined
  /** A repository's number, or the name of the owner of a package that is in none. */
  place: number | string
}

export const emptyModel = (): Model => ({
  accounts: new Map(),
  repositories: new Map(),
  entries: new Map(),
  follows: new Set(),
})

/** Sender of a request: a name, an anonymous client, or an administrator without a name of the model. */
export type Asker = string | null | 'root'

export const ownerOf = (model: Model, entry: Entry): string =>
  typeof entry.place === 'string' ? entry.place : model.repositories.get(entry.place)!.owner

const AUDIENCE = { public: 0, limited: 1, private: 2 }

/** Ann and Ben are the members of the guild. */
const belongs = (sender: Asker, name: string) =>
  sender === name || (name === 'guild' && (sender === 'ann' || sender === 'ben'))

const knows = (sender: Asker, audience: number, owner: string): boolean =>
  sender === 'root' || audience === 0 || (sender !== null && (audience === 1 || belongs(sender, owner)))

export const canSee = (model: Model, sender: Asker, name: string): boolean =>
  knows(sender, AUDIENCE[model.accounts.get(name)!.visibility], name)

export const canRead = (model: Model, sender: Asker, repo: Repo): boolean =>
  knows(sender, repo.private ? 2 : AUDIENCE[model.accounts.get(repo.owner)!.visibility], repo.owner)

/** Removes everything that belongs to an account from the model. */
export const forgetAccount = (model: Model, name: string): void => {
  for (const [id, repo] of model.repositories) {
    if (repo.owner === name) forgetRepository(model, id)
    repo.stars.delete(name)
    repo.watches.delete(name)
  }
  for (const [at, entry] of model.entries) if (entry.place === name) model.entries.delete(at)
  for (const one of model.follows) if (one.split(' ').includes(name)) model.follows.delete(one)
  model.accounts.delete(name)
}

export const forgetRepository = (model: Model, id: number): void => {
  model.repositories.delete(id)
  for (const [at, entry] of model.entries) if (entry.place === id) model.entries.delete(at)
}

const name = fc.constantFrom('ann', 'ben', 'cat', 'guild')
const person = fc.constantFrom('ann', 'ben', 'cat')
/** Which of the repositories that there are: the rest of a division by their number. */
const which = fc.nat({ max: 5 })
const kind = fc.constantFrom<LedgerKind>('attachments', 'artifacts', 'packages', 'lfs')
const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { minLength: 1 })
const visibility = fc.constantFrom<Visibility>('public', 'limited', 'private')
const size = fc.nat({ max: 3 })
const word = <W extends string>(text: W) => fc.constant(text)

export const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: word('create'),
      owner: name,
      name: fc.constantFrom('r1', 'r2'),
      private: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: word('put'),
      which,
      kind,
      keys,
      size,
      on: fc.constantFrom('issue', 'release'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: word('own'), owner: name, keys, size }) },
  { weight: 1, arbitrary: fc.record({ do: word('take'), kind, keys }) },
  { weight: 4, arbitrary: fc.record({ do: word('delete'), which }) },
  { weight: 4, arbitrary: fc.record({ do: word('transfer'), which, owner: name }) },
  { weight: 2, arbitrary: fc.record({ do: word('hide'), which, private: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: word('rename'), which }) },
  { weight: 1, arbitrary: fc.record({ do: word('resize'), which, size }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: word('relate'),
      which,
      relation: fc.constantFrom('stars', 'watches'),
      set: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: word('follow'), followed: name }) },
  { weight: 1, arbitrary: fc.record({ do: word('unfollow'), person, followed: name }) },
  { weight: 2, arbitrary: fc.record({ do: word('show'), name, visibility }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: word('purge'), name: fc.constantFrom('ann', 'ben', 'cat', 'guild') }),
  },
  { weight: 10, arbitrary: fc.record({ do: word('step') }) },
  { weight: 2, arbitrary: fc.record({ do: word('restart') }) },
)
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
