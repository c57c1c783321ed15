/** Where a relation leads: a repository of the family by the client's own number (`#5`), or another's by its path. */
export type Target = string

export interface Repository {
  owner: string
  name: string
  private: boolean
  description: string
}

export interface Entry {
  kind: 'attachments' | 'artifacts' | 'packages' | 'lfs'
  key: string
  /** The repository that it lies in; a package may belong to its owner alone. */
  lies: Target | { owner: string }
  name: string
  size: number
  on?: 'issue' | 'release'
  /** A hoard: so many entries that differ in their keys alone, which end with a number from 0. */
  times?: number
}

/** A file that was uploaded as a package: the only one of the only version. */
export interface Kept {
  owner: string
  name: string
  content: string
}

export type Visibility = 'public' | 'limited' | 'private'

/**
 * What one client has written, as the client knows it: people and an organization of its own that no other client
 * changes, so that what must be there after a kill is known exactly.
 */
export interface Family {
  name: string
  people: Map<string, { fullName: string; visibility: Visibility }>
  /** Owned by the first of the people. */
  organization: string
  repositories: Map<Target, Repository>
  stars: [login: string, target: Target][]
  watches: [login: string, target: Target][]
  follows: [follower: string, followed: string][]
  tokens: [login: string, name: string][]
  keys: { login: string; title: string; key: string }[]
  entries: Map<string, Entry>
  kept: Map<string, Kept>
}

export const newFamily = (name: string): Family => ({
  name,
  people: new Map(),
  organization: `${name}-o`,
  repositories: new Map(),
  stars: [],
  watches: [],
  follows: [],
  tokens: [],
  keys: [],
  entries: new Map(),
  kept: new Map(),
})

/** Its stars, its watches and what counts in it go with a repository. */
export const removeRepository = (family: Family, target: Target): void => {
  family.repositories.delete(target)
  family.stars = family.stars.filter(([, other]) => other !== target)
  family.watches = family.watches.filter(([, other]) => other !== target)
  for (const [at, { lies }] of family.entries) if (lies === target) family.entries.delete(at)
}

export const removePerson = (family: Family, login: string): void => {
  for (const [target, { owner }] of family.repositories) if (owner === login) removeRepository(family, target)
  for (const [at, { lies }] of family.entries)
    if (typeof lies === 'object' && lies.owner === login) family.entries.delete(at)
  for (const [at, { owner }] of family.kept) if (owner === login) family.kept.delete(at)
  family.people.delete(login)
  const isOthers = ([one, other]: [string, string]) => one !== login && other !== login
  family.stars = family.stars.filter(isOthers)
  family.watches = family.watches.filter(isOthers)
  family.follows = family.follows.filter(isOthers)
  family.tokens = family.tokens.filter(([one]) => one !== login)
  family.keys = family.keys.filter((key) => key.login !== login)
}

/** Whether a person may know of a repository; nobody in particular is undefined. */
export const mayRead = (family: Family, login: string | undefined, target: Target): boolean => {
  const repository = family.repositories.get(target)
  if (repository === undefined) return true
  const { owner } = repository
  if (login !== undefined && (owner === login || (owner === family.organization && isHead(family, login))))
    return true
  const visibility = family.people.get(owner)?.visibility ?? 'public'
  return !repository.private && (visibility === 'public' || (visibility === 'limited' && login !== undefined))
}

/** Who owns the organization. */
export const isHead = (family: Family, login: string): boolean => login === `${family.name}-a`

export const pathOf = (family: Family, target: Target): string => {
  const repository = family.repositories.get(target)
  return repository === undefined ? target : `${repository.owner}/${repository.name}`
}

/** One line for each thing that is there, by the names that it has outside, with its value. */
export type Facts = Map<string, string>

export const factsOf = (family: Family): Facts => {
  const facts: Facts = new Map()
  for (const [login, person] of family.people) facts.set(`user ${login}`, JSON.stringify(person))
  for (const { owner, name, private: isPrivate, description } of family.repositories.values())
    facts.set(`repository ${owner}/${name}`, JSON.stringify({ private: isPrivate, description }))
  for (const [login, target] of family.stars) facts.set(`star ${login} ${pathOf(family, target)}`, '')
  for (const [login, target] of family.watches) facts.set(`watch ${login} ${pathOf(family, target)}`, '')
  for (const [follower, followed] of family.follows) facts.set(`follow ${follower} ${followed}`, '')
  for (const [login, name] of family.tokens) facts.set(`token ${login} ${name}`, '')
  for (const { login, title, key } of family.keys) facts.set(`key ${login} ${title}`, key)
  for (const { kind, key, lies, name, size, on = null, times = 1 } of family.entries.values()) {
    const place = typeof lies === 'string' ? pathOf(family, lies) : lies.owner
    facts.set(`ledger ${key} ${kind}`, JSON.stringify({ place, name, size, on, times }))
  }
  for (const kept of family.kept.values()) facts.set(...keptFact(kept))
  return facts
}

/** A package counts as what is recorded in the ledger does. */
export const keptFact = ({ owner, name, content }: Kept): [fact: string, value: string] => [
  `kept ${owner}/${name} packages`,
  JSON.stringify({ place: owner, name, size: content.length, on: null, times: 1, content }),
]

/** The family that a fact is about: every name of a family begins with the family's own. */
export const familyOf = (fact: string): string | undefined => /^\w+ (f\d+)-/.exec(fact)?.[1]
