import { allItems } from '../../../lib/records/pages.ts'
import type { Account, Level, Repository, Team } from '../../../lib/records/schema/index.ts'
import { followLinks, type Links } from '../links.ts'
import { type Migration, OPERATOR } from '../migration.ts'
import type { Item, Things } from '../things.ts'
import type { TeamRights } from './rights.ts'

const ADDED = 'members who were added here to teams that the source has removed'

/** What is followed, and what the source has of it. */
export interface Followed {
  readonly things: Things
  readonly items: Item[]
}

/** The name of a team in the migration log. */
const keyOf = ({ name }: Pick<TeamRights, 'name'>): string => name.toLowerCase()

/** The copy of a team, whatever its name is here. */
export const copyOfTeam = async (
  { allot, migrationLog, names }: Migration,
  organization: Account,
  team: TeamRights,
): Promise<Team | undefined> => {
  const id = (await migrationLog.get('team', names.keyHere(organization), keyOf(team)))?.copy?.id
  return id === undefined ? undefined : (await allot.hosting.teams.find(OPERATOR, id))?.team
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
const shown = ({
  name,
  description,
  level,
  units,
  canCreate,
  allRepositories,
}: ReturnType<typeof editOf>) => ({
  name,
  description,
  level,
  canCreate,
  allRepositories,
  units: units.map(({ unit, level }) => `${unit} ${level}`).sort(),
})
type Shown = ReturnType<typeof shown>

/** The teams of an organization with their rights. */
export const teamsOf = (
  { allot, names, migrationLog, report }: Migration,
  { id: of, name: within }: Account,
  found: readonly TeamRights[],
): Followed => {
  const { teams } = allot.hosting
  const scope = names.keyHere({ id: of })
  const all = async () => {
    const listed = await allItems((slice) => teams.list(OPERATOR, within, slice))
    return listed.flatMap(({ team }) => team ?? [])
  }
  const withId = async (id: number | undefined) =>
    id === undefined ? undefined : (await teams.find(OPERATOR, id))?.team
  const things: Things = {
    kind: 'team',
    scope,
    within,
    async find(key, copy) {
      const team = (await withId(copy?.id)) ?? (await all()).find((one) => keyOf(one) === key)
      return team && { id: team.id, of }
    },
    members: async ({ id }) => shown((await withId(id))!),
    list: async () => (await all()).map(({ id, name: label }) => ({ copy: { id, of }, label })),
    async remove(key, { id }) {
      const own = `${scope}/${key}`
      const members = await allItems((slice) => teams.members(OPERATOR, id!, slice))
      const copies = await migrationLog.list('teamMember', own)
      const added = members.filter((member) => copies.every(({ copy }) => copy?.to !== member.id))
      for (const { name } of added) report.note('overwritten', ADDED, `${name} (${within}/${key})`)
      await teams.remove(OPERATOR, id!)
      // Another team can get the name.
      await migrationLog.remove([...copies, ...(await migrationLog.list('teamRepository', own))])
    },
  }
  const items = found.map((team): Item => {
    const wanted = editOf(team)
    const values = shown(wanted)
    return {
      name: keyOf(team),
      label: team.name,
      values,
      rightsOnBothSides: (here) => lesser(here as Shown, values),
      create: async () => (await teams.create(OPERATOR, within, wanted)) !== undefined,
      edit: ({ id }, { units, ...others }: Partial<Shown>) =>
        teams.edit(OPERATOR, id!, () => ({ ...others, ...(units && { units: units.map(unitOf) }) })),
    }
  })
  return { things, items }
}

const LEVELS: readonly Level[] = ['read', 'write', 'admin']
const lower = <L extends Level>(left: L, right: L): L =>
  LEVELS.indexOf(left) < LEVELS.indexOf(right) ? left : right

/** What a team may do on both sides. */
const lesser = (here: Shown, source: Shown) => ({
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

const unitOf = (text: string): TeamRights['units'][number] => {
  const [unit, level] = text.split(' ')
  return { unit, level } as TeamRights['units'][number]
}

/** Members or repositories of a team. */
const linksOf = <T extends Account | Repository>(
  migration: Migration,
  organization: Account,
  team: TeamRights,
  links: Omit<Links<T>, 'scope' | 'within'>,
) => {
  const key = keyOf(team)
  const scope = `${migration.names.keyHere(organization)}/${key}`
  return followLinks<T>(migration, { ...links, scope, within: `${organization.name}/${key}` })
}

/** The members of a team. */
export const membersOf = (
  migration: Migration,
  organization: Account,
  team: TeamRights,
  { id }: Team,
): Followed => {
  const { allot, names } = migration
  const { teams } = allot.hosting
  const things = linksOf<Account>(migration, organization, team, {
    kind: 'teamMember',
    of: id,
    withKey: (name) => names.userWithKey(name),
    all: (slice) => teams.members(OPERATOR, id, slice),
    has: ({ name }) => teams.member(OPERATOR, id, name),
    add: ({ name }) => teams.addMember(OPERATOR, id, name),
    remove: ({ name }) => teams.removeMember(OPERATOR, id, name),
  })
  return { things, items: [...team.users].map((login) => things.itemFor(names.key(login), login)) }
}

/** The repositories on which a team has rights. */
export const repositoriesOf = (
  migration: Migration,
  organization: Account,
  team: TeamRights,
  { id }: Team,
): Followed => {
  const { allot, names } = migration
  const { teamRepositories } = allot.hosting
  const path = ({ name }: Repository) => ({ owner: organization.name, name })
  const things = linksOf<Repository>(migration, organization, team, {
    kind: 'teamRepository',
    of: id,
    withKey: (name) => names.repositoryWithKey(name),
    all: (slice) => teamRepositories.list(OPERATOR, id, slice),
    has: (repository) => teamRepositories.find(OPERATOR, id, path(repository)),
    add: (repository) => teamRepositories.set(OPERATOR, id, path(repository), true),
    remove: (repository) => teamRepositories.set(OPERATOR, id, path(repository), false),
  })
  const items = (team.repositories ?? []).map((given) =>
    things.itemFor(names.repositoryKey(given), given.name),
  )
  return { things, items }
}
