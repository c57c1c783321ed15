/** A repository: one of this client by its number (`#5`), or a shared one by its path. */
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
  /** The repository of the entry; a package can have an owner only. */
  location: Target | { owner: string }
  name: string
  size: number
  on?: 'issue' | 'release'
  /** More than 1: a bulk of entries that differ only in the number at the end of their keys, from 0. */
  count?: number
}

/** An uploaded package file: the only file of the only version of its package. */
export interface PackageFile {
  owner: string
  name: string
  content: string
}

export type Visibility = 'public' | 'limited' | 'private'

/**
 * The writes of one client. No other client changes these accounts, so that the expected state after a kill
 * is known exactly.
 */
export interface ClientModel {
  name: string
  people: Map<string, { fullName: string; visibility: Visibility }>
  /** Owned by the first user. */
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

/** Removes a repository with its stars, watches and ledger entries. */
export const removeRepository = (model: ClientModel, target: Target): void => {
  model.repositories.delete(target)
  model.stars = model.stars.filter(([, other]) => other !== target)
  model.watches = model.watches.filter(([, other]) => other !== target)
  for (const [key, { location }] of model.entries) if (location === target) model.entries.delete(key)
}

export const removePerson = (model: ClientModel, login: string): void => {
  for (const [target, { owner }] of model.repositories) if (owner === login) removeRepository(model, target)
  for (const [key, { location }] of model.entries)
    if (typeof location === 'object' && location.owner === login) model.entries.delete(key)
  for (const [key, { owner }] of model.packageFiles) if (owner === login) model.packageFiles.delete(key)
  model.people.delete(login)
  const isKept = ([left, right]: [string, string]) => left !== login && right !== login
  model.stars = model.stars.filter(isKept)
  model.watches = model.watches.filter(isKept)
  model.follows = model.follows.filter(isKept)
  model.tokens = model.tokens.filter(([owner]) => owner !== login)
  model.keys = model.keys.filter((key) => key.login !== login)
}

/**
 * Whether a user can read a repository.
 * @param login undefined for an anonymous viewer
 */
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

/** Whether a user owns the organization of the client. */
export const ownsOrganization = (model: ClientModel, login: string): boolean => login === `${model.name}-a`

export const pathOf = (model: ClientModel, target: Target): string => {
  const repository = model.repositories.get(target)
  return repository === undefined ? target : `${repository.owner}/${repository.name}`
}

/**
 * The state as text: for each record its value, by kind and public names, such as `star f0-a ops/shared-1`.
 */
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

/** A package file counts toward the usage as a ledger entry does. */
export const packageFact = ({ owner, name, content }: PackageFile): [fact: string, value: string] => [
  `package ${owner}/${name} packages`,
  JSON.stringify({ place: owner, name, size: content.length, on: null, count: 1, content }),
]

/** The client that a fact belongs to: every name that a client makes starts with the client's name. */
export const clientModelOf = (fact: string): string | undefined => /^\w+ (f\d+)-/.exec(fact)?.[1]
