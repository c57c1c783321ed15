/** The wire format of teams, in responses and bodies. */
import * as v from 'valibot'
import type { FoundTeam } from '../../accounts/team-members.ts'
import type { NewTeam, TeamEdit } from '../../accounts/teams.ts'
import { OWNERS } from '../../accounts/teams.ts'
import { Level, type Team as TeamRecord, Unit } from '../../records/schema/index.ts'
import { example, number, shortText, text } from '../fields.ts'
import { Organization, presentOrganization } from '../organizations.ts'
import type { Recipient } from '../route.ts'
import { view } from '../view.ts'

const Permission = v.picklist(['none', 'read', 'write', 'admin', 'owner'])

/** The permission on each unit; unknown units are ignored. */
const UnitsMap = v.object(v.entriesFromList(Unit.options, v.optional(Permission)))

export const Team = v.object({
  id: number(14),
  name: text('Developers'),
  description: text('Those who write'),
  organization: Organization,
  includes_all_repositories: v.boolean(),
  permission: example(Permission, 'write'),
  units: example(v.array(v.string()), ['repo.code', 'repo.issues']),
  units_map: example(UnitsMap, { 'repo.code': 'write', 'repo.issues': 'read' }),
  can_create_org_repo: v.boolean(),
})
export type Team = v.InferOutput<typeof Team>

type Shown = Omit<Team, 'organization'>

export const presentTeam = ({ organization, team }: FoundTeam, recipient: Recipient): Team => {
  const { id, ...shown } = team === undefined ? ownersOf(organization.id) : shownOf(team)
  return { id, organization: presentOrganization(organization, recipient), ...shown }
}

export const teamView = view(Team, presentTeam)

const ownersOf = (id: number): Shown => ({
  id,
  name: OWNERS,
  description: '',
  permission: 'owner',
  includes_all_repositories: true,
  can_create_org_repo: true,
  ...onEvery('owner'),
})

const shownOf = ({ id, name, description, level, units, allRepositories, canCreate }: TeamRecord): Shown => ({
  id,
  name,
  description,
  permission: level,
  includes_all_repositories: allRepositories,
  can_create_org_repo: canCreate,
  ...(level === 'admin'
    ? onEvery('admin')
    : {
        units: units.map(({ unit }) => unit),
        units_map: Object.fromEntries(units.map((one) => [one.unit, one.level])),
      }),
})

const onEvery = (permission: 'admin' | 'owner'): Pick<Team, 'units' | 'units_map'> => ({
  units: [...Unit.options],
  units_map: Object.fromEntries(Unit.options.map((unit) => [unit, permission])),
})

const teamName = v.pipe(v.string(), v.maxLength(255))

const members = {
  description: v.optional(v.nullable(example(shortText, 'Those who write'))),
  /** Clients written in Go send an empty string for one that is not set. */
  permission: v.optional(example(v.picklist([...Level.options, 'none', 'owner', '']), 'write')),
  includes_all_repositories: v.optional(v.nullable(v.boolean())),
  can_create_org_repo: v.optional(v.nullable(v.boolean())),
  units: v.optional(
    v.nullable(example(v.pipe(v.array(Unit), v.maxLength(20)), ['repo.code', 'repo.issues'])),
  ),
  units_map: v.optional(v.nullable(UnitsMap)),
}

export const CreateTeamOption = v.object({ name: example(teamName, 'Developers'), ...members })
export const EditTeamOption = v.object({ name: v.optional(example(teamName, 'Developers')), ...members })
type Given = v.InferOutput<typeof EditTeamOption>

/** A team cannot give ownership, so `owner` means `admin`, as with other servers of this API. */
const levelIn = (permission: Given['permission']): Level | undefined => {
  if (permission === undefined || permission === '' || permission === 'none') return undefined
  return permission === 'owner' ? 'admin' : permission
}

type Units = TeamRecord['units']
type UnitLevel = Units[number]['level']

const unitLevel = (level: Level): UnitLevel => (level === 'read' ? 'read' : 'write')

/** `units_map` names the level of each unit; `units` have that of the team. */
const unitsIn = ({ units, units_map: map }: Given, level: Level): Units | undefined => {
  const entries = Object.entries(map ?? {}) as [Unit, v.InferOutput<typeof Permission>][]
  if (entries.length > 0)
    return entries.flatMap(([unit, given]) => {
      const own = levelIn(given)
      return own === undefined ? [] : [{ unit, level: unitLevel(own) }]
    })
  return units ? [...new Set(units)].map((unit) => ({ unit, level: unitLevel(level) })) : undefined
}

const textsIn = (given: Given): TeamEdit => ({
  ...(given.name ? { name: given.name } : {}),
  ...(typeof given.description === 'string' ? { description: given.description } : {}),
  ...(typeof given.includes_all_repositories === 'boolean'
    ? { allRepositories: given.includes_all_repositories }
    : {}),
  ...(typeof given.can_create_org_repo === 'boolean' ? { canCreate: given.can_create_org_repo } : {}),
})

export const newTeamIn = (given: v.InferOutput<typeof CreateTeamOption>): NewTeam => {
  const level = levelIn(given.permission) ?? 'read'
  return { ...textsIn(given), name: given.name, level, units: unitsIn(given, level) ?? [] }
}

/** A level without units changes that of the units that the team has. */
export const teamEditIn = (given: Given, before: Pick<TeamRecord, 'level' | 'units'>): TeamEdit => {
  const level = levelIn(given.permission) ?? before.level
  const kept = before.units.map(({ unit }) => ({ unit, level: unitLevel(level) }))
  const units = unitsIn(given, level) ?? (level === before.level ? before.units : kept)
  return { ...textsIn(given), level, units }
}
