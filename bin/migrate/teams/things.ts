import { AllotError } from '../../../lib/errors.ts'
import { allItems } from '../../../lib/records/pages.ts'
import type { Account, Level, Repository, Team } from '../../../lib/records/schema/index.ts'
import { REVOKED } from '../labels.ts'
import { followLinks } from '../links.ts'
import { type Migration, OPERATOR } from '../migration.ts'
import { type KeyedTeam, textOf } from '../names/index.ts'
import type { Item, Things } from '../things.ts'
import type { TeamRights } from './rights.ts'

const NAME_REFUSED = 'teams that were renamed at the source, and cannot get that name here'

const ADDED = 'members who were added here to teams that the source has removed'

/** A team of the source that may have a copy. */
export type Keyed = KeyedTeam<TeamRights>

/** What is followed, and what the source has of it. */
interface Followed {
  readonly things: Things
  readonly items: Item[]
}

/**
 * The copy of a team, whatever its name is here.
 * @param scope key of the organization
 */
export const copyOfTeam = async (
  { allot, migrationLog }: Migration,
  scope: string,
  key: string,
): Promise<Team | undefined> => {
  const id = (await migrationLog.get('team', scope, key))?.copy?.id
  return id === undefined ? undefined : (await allot.hosting.teams.find(OPERATOR, id))?.team
}

/** A team here with this name, unless it is the copy of another key. */
const findByName = async (
  { allot, migrationLog, names }: Migration,
  organization: Account,
  key: string,
  name: string,
): Promise<Team | undefined> => {
  const all = await allItems((slice) => allot.hosting.teams.list(OPERATOR, organization.name, slice))
  const found = all.find(({ team }) => team?.name.toLowerCase() === name.toLowerCase())?.team
  const known = await migrationLog.list('team', names.keyHere(organization))
  const isOther = known.some((record) => record.copy?.id === found?.id && record.name !== key)
  return isOther ? undefined : found
}

const editOf = ({ name, description, level, units, canCreate, repositories }: TeamRights) => ({
  name,
  description,
  level,
  units,
  canCreate,
  allRepositories: repositories === undefined,
})

/** The members of a team, with its units as texts to compare. */
const shown = ({ units, ...members }: ReturnType<typeof editOf>) => ({
  ...members,
  units: units.map(({ unit, level }) => `${unit} ${level}`).sort(),
})
type Shown = ReturnType<typeof shown>

/** The teams of an organization with their rights. */
export const teamsOf = (migration: Migration, organization: Account, keyed: readonly Keyed[]): Followed => {
  const { allot, names, migrationLog, report } = migration
  const { teams } = allot.hosting
  const scope = names.keyHere(organization)
  const things: Things = {
    kind: 'team',
    scope,
    async find(key, copy) {
      const name = keyed.find((one) => one.key === key)?.team.name ?? key
      const own = copy?.id === undefined ? undefined : (await teams.find(OPERATOR, copy.id))?.team
      const team = own ?? (await findByName(migration, organization, key, name))
      return team && { id: team.id, of: organization.id }
    },
    async members({ id }) {
      const { name, description, level, units, canCreate, allRepositories } = (await teams.find(
        OPERATOR,
        id!,
      ))!.team!
      return shown({ name, description, level, units, canCreate, allRepositories })
    },
    async list() {
      const all = await allItems((slice) => teams.list(OPERATOR, organization.name, slice))
      return all.flatMap(({ team }) =>
        team === undefined ? [] : [{ copy: { id: team.id, of: organization.id }, label: team.name }],
      )
    },
    async remove(key, { id }) {
      const members = await allItems((slice) => teams.members(OPERATOR, id!, slice))
      const copies = await migrationLog.list('teamMember', `${scope}/${key}`)
      const added = members.filter((member) => copies.every(({ copy }) => copy?.to !== member.id))
      for (const { name } of added) report.note('overwritten', ADDED, `${name} (${scope}/${key})`)
      return teams.remove(OPERATOR, id!)
    },
  }
  const items = keyed.map(({ team, key }): Item => {
    const wanted = editOf(team)
    const values = shown(wanted)
    return {
      ...{ name: key, label: team.name, values },
      narrowed: (here) => narrowed(here as Shown, values),
      create: async () => (await teams.create(OPERATOR, organization.name, wanted)) !== undefined,
      edit: ({ id }, changed) => editTeam(migration, id!, `${team.name} (${scope})`, changed),
    }
  })
  return { things, items }
}

const LEVELS: readonly Level[] = ['read', 'write', 'admin']
const lower = <L extends Level>(left: L, right: L): L =>
  LEVELS.indexOf(left) < LEVELS.indexOf(right) ? left : right

/** What a team may do on both sides. */
const narrowed = (here: Shown, source: Shown): Shown => ({
  ...here,
  level: lower(here.level, source.level),
  units: commonUnits(here, source),
  canCreate: here.canCreate && source.canCreate,
  allRepositories: here.allRepositories && source.allRepositories,
})

/** With the level `admin`, the units say nothing. */
const commonUnits = (here: Shown, source: Shown): string[] => {
  if (here.level === 'admin') return source.units
  if (source.level === 'admin') return here.units
  const levels = new Map(source.units.map((text) => text.split(' ') as [string, Level]))
  return here.units.flatMap((text) => {
    const [unit = '', level] = text.split(' ')
    const other = levels.get(unit)
    return other === undefined ? [] : [`${unit} ${lower(level as Level, other)}`]
  })
}

/** Changes the name last, which another team of the name must not keep from losing rights. */
const editTeam = async (
  { allot, report }: Migration,
  id: number,
  label: string,
  { name, units, ...others }: Partial<Shown>,
): Promise<void> => {
  const { teams } = allot.hosting
  const { description: _, ...rights } = { ...others, ...(units && { units: units.map(unitOf) }) }
  if (Object.keys(rights).length > 0) report.note('revoked', REVOKED.team, label)
  const edit = { ...others, ...rights }
  await teams.edit(OPERATOR, id, () => edit)
  if (name === undefined) return
  try {
    await teams.edit(OPERATOR, id, () => ({ name }))
  } catch (error) {
    if (!(error instanceof AllotError)) throw error
    report.note('differs', NAME_REFUSED, `${label} (${error.message})`)
  }
}

const unitOf = (text: string): TeamRights['units'][number] => {
  const [unit, level] = text.split(' ')
  return { unit, level } as TeamRights['units'][number]
}

/** The members of a team. */
export const membersOf = (
  migration: Migration,
  organization: Account,
  { key, team }: Keyed,
  { id }: Team,
): Followed => {
  const { allot, names } = migration
  const { teams } = allot.hosting
  const things = followLinks<Account>(migration, {
    ...{ kind: 'teamMember', scope: `${names.keyHere(organization)}/${key}`, of: id },
    withKey: (name) => names.userWithKey(name),
    all: (slice) => teams.members(OPERATOR, id, slice),
    has: ({ name }) => teams.member(OPERATOR, id, name),
    add: ({ name }) => teams.addMember(OPERATOR, id, name),
    remove: ({ name }) => teams.removeMember(OPERATOR, id, name),
  })
  return { things, items: [...team.users].map((login) => things.itemFor(names.key(login), login)) }
}

/** The repositories on which a team has rights. The log names them without their owner, the organization. */
export const repositoriesOf = (
  migration: Migration,
  organization: Account,
  { key, team }: Keyed,
  { id }: Team,
): Followed => {
  const { allot, names } = migration
  const { teamRepositories } = allot.hosting
  const owner = names.keyHere(organization)
  const path = ({ name }: Repository) => ({ owner: organization.name, name })
  const things = followLinks<Repository>(migration, {
    ...{ kind: 'teamRepository', scope: `${owner}/${key}`, of: id },
    withKey: (name) => names.repositoryWithKey(name.includes('/') ? name : `${owner}/${name}`),
    all: (slice) => teamRepositories.list(OPERATOR, id, slice),
    has: (repository) => teamRepositories.find(OPERATOR, id, path(repository)),
    add: (repository) => teamRepositories.add(OPERATOR, id, path(repository)),
    remove: (repository) => teamRepositories.remove(OPERATOR, id, path(repository)),
  })
  const items = [...(team.repositories ?? [])].map((label) => {
    const given = names.repositoryKey(team.organization, label)
    return things.itemFor(given.scope === owner ? given.name : textOf(given), label)
  })
  return { things, items }
}
