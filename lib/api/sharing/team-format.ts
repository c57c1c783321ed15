/** The wire format of teams, in responses and bodies. */
import * as v from 'valibot'
import type { FoundTeam } from '../../accounts/team-members.ts'
import type { NewTeam, TeamEdit } from '../../accounts/teams.ts'
import { OWNERS } from '../../accounts/teams.ts'
import { Level, type Team as TeamRecord, Unit } from '../../records/schema/index.ts'
import * as f from '../fields.ts'
import { organizationView } from '../organizations.ts'
import { resource, shown } from '../view.ts'

const Permission = v.picklist(['none', 'read', 'write', 'admin', 'owner'])

/** The permission on each unit; unknown units are ignored. */
const UnitsMap = v.object(v.entriesFromList(Unit.options, v.optional(Permission)))

/** The units with the level on each. The owners, and administrators, have theirs on every unit. */
const unitsOf = ({ team }: FoundTeam): [Unit, v.InferOutput<typeof Permission>][] =>
  team === undefined || team.level === 'admin'
    ? Unit.options.map((unit) => [unit, team?.level ?? 'owner'])
    : team.units.map(({ unit, level }) => [unit, level])

/** Without a record, it is the team of the owners. */
export const teamView = resource<FoundTeam>()({
  id: [f.number(14), ({ team, organization }) => team?.id ?? organization.id],
  name: [f.text('Developers'), ({ team }) => team?.name ?? OWNERS],
  description: [f.text('Those who write'), ({ team }) => team?.description ?? ''],
  organization: shown(organizationView, ({ organization }) => organization),
  includes_all_repositories: [v.boolean(), ({ team }) => team?.allRepositories ?? true],
  permission: [f.example(Permission, 'write'), ({ team }) => team?.level ?? 'owner'],
  units: [
    f.example(v.array(v.string()), ['repo.code', 'repo.issues']),
    (found) => unitsOf(found).map(([unit]) => unit),
  ],
  units_map: [
    f.example(UnitsMap, { 'repo.code': 'write', 'repo.issues': 'read' }),
    (found) => Object.fromEntries(unitsOf(found)),
  ],
  can_create_org_repo: [v.boolean(), ({ team }) => team?.canCreate ?? true],
})

const teamName = v.pipe(v.string(), v.maxLength(255))

const members = {
  description: v.optional(v.nullable(f.example(f.shortText, 'Those who write'))),
  /** Clients written in Go send an empty string for one that is not set. */
  permission: v.optional(f.example(v.picklist([...Level.options, 'none', 'owner', '']), 'write')),
  includes_all_repositories: v.optional(v.nullable(v.boolean())),
  can_create_org_repo: v.optional(v.nullable(v.boolean())),
  units: v.optional(
    v.nullable(f.example(v.pipe(v.array(Unit), v.maxLength(20)), ['repo.code', 'repo.issues'])),
  ),
  units_map: v.optional(v.nullable(UnitsMap)),
}

export const CreateTeamOption = v.object({ name: f.example(teamName, 'Developers'), ...members })
export const EditTeamOption = v.object({ name: v.optional(f.example(teamName, 'Developers')), ...members })
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
