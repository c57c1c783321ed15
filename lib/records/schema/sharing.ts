/**
 * Who may do what besides owners and members: collaborators, teams, and offers of a repository to another
 * owner.
 */
import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { id, seconds } from '../fields.ts'

export const Level = v.picklist(['read', 'write', 'admin'])
export type Level = v.InferOutput<typeof Level>

const Collaborator = v.object({
  repository: id,
  account: id,
  level: Level,
  /**
   * Whether the account has the right because it created the repository as a member of the organization: the
   * right ends with the membership.
   */
  byMembership: v.optional(v.boolean()),
  createdAt: seconds,
})

/** Users with whom a single repository is shared. */
export const collaborators = new Collection({
  name: 'collaborator',
  schema: Collaborator,
  id: (collaborator) => [collaborator.repository, collaborator.account],
  ordered: {
    account: (collaborator) => [collaborator.account],
    repository: (collaborator) => [collaborator.repository],
  },
  counted: {
    account: (collaborator) => [collaborator.account],
    repository: (collaborator) => [collaborator.repository],
  },
  belongsTo: [
    { to: 'account', by: 'account', removed: 'now' },
    { to: 'repository', by: 'repository' },
  ],
})

/**
 * Parts of a repository, under the names that clients know. Rights on `repo.code`, `repo.issues` and
 * `repo.releases`, and on the packages of the organization, have an effect; the others are kept for clients.
 */
export const Unit = v.picklist([
  'repo.code',
  'repo.issues',
  'repo.releases',
  'repo.packages',
  'repo.pulls',
  'repo.wiki',
  'repo.projects',
  'repo.actions',
  'repo.ext_wiki',
  'repo.ext_issues',
])
export type Unit = v.InferOutput<typeof Unit>

const Team = v.object({
  id,
  organization: id,
  name: v.string(),
  description: v.string(),
  /** With `admin`, members administer the repositories, whatever the units say. */
  level: Level,
  /** Rights of the members, unless `level` is `admin`. A unit that is not listed: no right. */
  units: v.pipe(
    v.array(v.object({ unit: Unit, level: v.picklist(['read', 'write']) })),
    v.maxLength(Unit.options.length),
  ),
  /** Whether the team is for all repositories of the organization, later ones included. */
  allRepositories: v.boolean(),
  canCreate: v.boolean(),
  createdAt: seconds,
})
export type Team = v.InferOutput<typeof Team>

/**
 * Teams of organizations. Their ids come from the sequence of accounts, so the id of an organization stands
 * for the team of its owners, which is not stored: its members are the owners.
 */
export const teams = new Collection({
  name: 'team',
  schema: Team,
  id: (team) => [team.id],
  numbers: { sequence: 'account' },
  unique: { name: (team) => [team.organization, team.name.toLowerCase()] },
  ordered: { organization: (team) => [team.organization, team.name.toLowerCase()] },
  counted: { organization: (team) => [team.organization] },
  belongsTo: [{ to: 'organization', by: 'organization' }],
})

const TeamMember = v.object({ account: id, organization: id, team: id, createdAt: seconds })

/** Members of teams. Each has a membership of the organization, too. */
export const teamMembers = new Collection({
  name: 'teamMember',
  schema: TeamMember,
  id: (member) => [member.account, member.organization, member.team],
  ordered: {
    account: (member) => [member.account],
    team: (member) => [member.team],
    organization: (member) => [member.organization],
  },
  counted: { team: (member) => [member.team], account: (member) => [member.account] },
  belongsTo: [
    { to: 'account', by: 'account', removed: 'now' },
    { to: 'organization', by: 'organization' },
    { to: 'team', by: 'team' },
  ],
})

const TeamRepository = v.object({ team: id, repository: id, organization: id, createdAt: seconds })
export type TeamRepository = v.InferOutput<typeof TeamRepository>

/** Repositories of teams that are not for all repositories. */
export const teamRepositories = new Collection({
  name: 'teamRepository',
  schema: TeamRepository,
  id: (assigned) => [assigned.team, assigned.repository],
  ordered: {
    team: (assigned) => [assigned.team],
    repository: (assigned) => [assigned.repository],
    organization: (assigned) => [assigned.organization],
  },
  counted: { team: (assigned) => [assigned.team] },
  belongsTo: [
    { to: 'organization', by: 'organization' },
    { to: 'team', by: 'team' },
    { to: 'repository', by: 'repository', removed: 'now' },
  ],
})

const Transfer = v.object({
  repository: id,
  /** The account that offers the repository. */
  doer: id,
  recipient: id,
  createdAt: seconds,
})
export type Transfer = v.InferOutput<typeof Transfer>

/** Repositories that are offered to another owner, who accepts or rejects them. */
export const transfers = new Collection({
  name: 'transfer',
  schema: Transfer,
  id: (transfer) => [transfer.repository],
  ordered: {
    recipient: (transfer) => [transfer.recipient],
    doer: (transfer) => [transfer.doer],
  },
  counted: { recipient: (transfer) => [transfer.recipient] },
  belongsTo: [
    { to: 'account', by: 'doer', removed: 'now' },
    { to: 'account', by: 'recipient' },
    { to: 'repository', removed: 'now' },
  ],
})
