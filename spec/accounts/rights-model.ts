/** The rules of rights and visibility, said again from no index: each question looks at everything. */
type Visibility = 'public' | 'limited' | 'private'

/** What collaborators and teams are given, from the least to the most. */
export const LEVELS = ['read', 'write', 'admin'] as const
type Level = (typeof LEVELS)[number]

/** What is read of a repository; `repository` is what everyone with any right on it sees. */
export const PARTS = ['repository', 'code', 'issues', 'releases'] as const
type Part = (typeof PARTS)[number]

interface Repository {
  readonly id: number
  readonly name: string
  owner: number
  private: boolean
  /** The levels of collaborators. */
  readonly shared: Map<number, Level>
  offer?: { readonly doer: number; readonly recipient: number } | undefined
}

export interface Model {
  readonly accounts: Map<
    number,
    {
      readonly id: number
      readonly name: string
      readonly kind: 'user' | 'organization'
      readonly admin: boolean
      active: boolean
      visibility: Visibility
    }
  >
  readonly members: {
    readonly organization: number
    readonly member: number
    owner: boolean
    byTeam: boolean
  }[]
  readonly teams: {
    readonly id: number
    readonly organization: number
    level: Level
    units: readonly { readonly unit: string; readonly level: 'read' | 'write' }[]
    allRepositories: boolean
    readonly members: Set<number>
    readonly repositories: Set<number>
  }[]
  readonly repositories: Repository[]
}

export const newModel = (): Model => ({ accounts: new Map(), members: [], teams: [], repositories: [] })

const isAdmin = ({ accounts }: Model, viewer: number): boolean => accounts.get(viewer)?.admin === true
const memberIn = ({ members }: Model, account: number, viewer: number) =>
  members.find(({ organization, member }) => organization === account && member === viewer)
const isOwner = (model: Model, viewer: number, account: number): boolean =>
  viewer === account || memberIn(model, account, viewer)?.owner === true

const isOpen = (visibility: Visibility, viewer: number): boolean =>
  visibility === 'public' || (visibility === 'limited' && viewer !== 0)

/** @param viewer id of an account; 0 for nobody */
export const sees = (model: Model, viewer: number, account: number): boolean =>
  isOpen(model.accounts.get(account)!.visibility, viewer) ||
  isAdmin(model, viewer) ||
  viewer === account ||
  memberIn(model, account, viewer) !== undefined

/** 0: no right, 1: read, 2: write, 3: administer. */
const rightOn = (model: Model, viewer: number, repository: Repository, part: Part): number => {
  const { id, owner, shared } = repository
  if (isAdmin(model, viewer) || viewer === owner) return 3
  const member = memberIn(model, owner, viewer)
  const rights = [1 + LEVELS.indexOf(shared.get(viewer)!)]
  if (member?.owner) rights.push(3)
  else if (member?.byTeam === false) rights.push(2)
  for (const team of model.teams) {
    if (team.organization !== owner || !team.members.has(viewer)) continue
    if (!team.allRepositories && !team.repositories.has(id)) continue
    const granted = team.units.find(({ unit }) => unit === `repo.${part}`)
    rights.push(team.level === 'admin' ? 3 : 1 + LEVELS.indexOf(granted?.level as Level))
  }
  return Math.max(...rights)
}

const isOpenRepository = (model: Model, repository: Repository, viewer: number): boolean => {
  if (isAdmin(model, viewer)) return true
  const { visibility } = model.accounts.get(repository.owner)!
  return !repository.private && isOpen(visibility, viewer)
}

/** Whether an offer of a repository is for a viewer, and its doer can still give the repository away. */
const isOffered = (model: Model, { owner, offer }: Repository, viewer: number): boolean =>
  offer !== undefined &&
  isOwner(model, viewer, offer.recipient) &&
  isOwner(model, offer.doer, owner) &&
  model.accounts.get(offer.doer)!.active

interface Sender {
  readonly id: number
  /** Undefined: every scope. */
  readonly scopes: ReadonlySet<string> | undefined
}

/** Whether credentials read a part. Without the scope they read as nobody. */
export const reads = (model: Model, { id, scopes }: Sender, repository: Repository, part: Part): boolean => {
  const needed = part === 'issues' ? 'issue' : 'repository'
  const has = ['all', `read:${needed}`, `write:${needed}`].some((scope) => scopes?.has(scope))
  const viewer = scopes === undefined || has ? id : 0
  if (isOpenRepository(model, repository, viewer)) return true
  if (viewer === 0) return false
  if (part !== 'repository') return rightOn(model, viewer, repository, part) > 0
  const rights = PARTS.slice(1).map((one) => rightOn(model, viewer, repository, one))
  return Math.max(...rights) > 0 || isOffered(model, repository, viewer)
}

export const permission = (model: Model, viewer: number, repository: Repository, part: Part) => {
  const open = isOpenRepository(model, repository, viewer)
  if (viewer === 0) return { admin: false, push: false, pull: open }
  const right = rightOn(model, viewer, repository, part)
  return {
    admin: rightOn(model, viewer, repository, 'code') === 3,
    push: right >= 2,
    pull: open || right >= 1,
  }
}
