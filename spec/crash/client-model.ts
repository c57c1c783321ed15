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
  location: Target | { owner: string }
  name: string
  size: number
  on?: 'issue' | 'release'
  /** A hoard: so many entries that differ in their keys alone, which end with a number from 0. */
  count?: number
}

/** A file that was uploaded as a package: the only one of the only version. */
export interface PackageFile {
  owner: string
  name: string
  content: string
}

export type Visibility = 'public' | 'limited' | 'private'

/**
 * What one client has written, as the client knows it: people and an organization of its own that no other client
 * changes, so that what must be there after a kill is known exactly.
 */
export interface ClientModel {
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
  packageFiles: Map<string, PackageFile>
}

export const createClientModel = (name: string): ClientModel => ({
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
  packageFiles: new Map(),
})

/** Its stars, its watches and what counts in it go with a repository. */
export const removeRepository = (model: ClientModel, target: Target): void => {
  model.repositories.delete(target)
  model.stars = model.stars.filter(([, other]) => other !== target)
  model.watches = model.watches.filter(([, other]) => other !== target)
  for (const [at, { location }] of model.entries) if (location === target) model.entries.delete(at)
}

export const removePerson = (model: ClientModel, login: string): void => {
  for (const [target, { owner }] of model.repositories) if (owner === login) removeRepository(model, target)
  for (const [at, { location }] of model.entries)
    if (typeof location === 'object' && location.owner === login) model.entries.delete(at)
  for (const [at, { owner }] of model.packageFiles) if (owner === login) model.packageFiles.delete(at)
  model.people.delete(login)
  const isOthers = ([one, other]: [string, string]) => one !== login && other !== login
  model.stars = model.stars.filter(isOthers)
  model.watches = model.watches.filter(isOthers)
  model.follows = model.follows.filter(isOthers)
  model.tokens = model.tokens.filter(([one]) => one !== login)
  model.keys = model.keys.filter((key) => key.login !== login)
}

/** Whether a person may know of a repository; nobody in particular is undefined. */
export const mayRead = (model: ClientModel, login: string | undefined, target: Target): boolean => {
  const repository = model.repositories.get(target)
  if (repository === undefined) return true
  const { owner } = repository
  if (
    login !== undefined &&
    (owner === login || (owner === model.organization && ownsOrganization(model, login)))
  )
    return true
  const visibility = model.people.get(owner)?.visibility ?? 'public'
  return !repository.private && (visibility === 'public' || (visibility === 'limited' && login !== undefined))
}

/** Who owns the organization. */
export const ownsOrganization = (model: ClientModel, login: string): boolean => login === `${model.name}-a`

export const pathOf = (model: ClientModel, target: Target): string => {
  const repository = model.repositories.get(target)
  return repository === undefined ? target : `${repository.owner}/${repository.name}`
}

/** One line for each thing that is there, by the names that it has outside, with its value. */
export type Facts = Map<string, string>

export const factsOf = (model: ClientModel): Facts => {
  const facts: Facts = new Map()
  for (const [login, person] of model.people) facts.set(`user ${login}`, JSON.stringify(person))
  for (const { owner, name, private: isPrivate, description } of model.repositories.values())
    facts.set(`repository ${owner}/${name}`, JSON.stringify({ private: isPrivate, description }))
  for (const [login, target] of model.stars) facts.set(`star ${login} ${pathOf(model, target)}`, '')
  for (const [login, target] of model.watches) facts.set(`watch ${login} ${pathOf(model, target)}`, '')
  for (const [follower, followed] of model.follows) facts.set(`follow ${follower} ${followed}`, '')
  for (const [login, name] of model.tokens) facts.set(`token ${login} ${name}`, '')
  for (const { login, title, key } of model.keys) facts.set(`key ${login} ${title}`, key)
  for (const { kind, key, location, name, size, on = null, count = 1 } of model.entries.values()) {
    const place = typeof location === 'string' ? pathOf(model, location) : location.owner
    facts.set(`ledger ${key} ${kind}`, JSON.stringify({ place, name, size, on, count }))
  }
  for (const kept of model.packageFiles.values()) facts.set(...packageFact(kept))
  return facts
}

/** A package counts as what is recorded in the ledger does. */
export const packageFact = ({ owner, name, content }: PackageFile): [fact: string, value: string] => [
  `kept ${owner}/${name} packages`,
  JSON.stringify({ place: owner, name, size: content.length, on: null, count: 1, content }),
]

/** The family that a fact is about: every name of a family begins with the family's own. */
export const clientModelOf = (fact: string): string | undefined => /^\w+ (f\d+)-/.exec(fact)?.[1]
