import { allItems } from '../../../lib/records/pages.ts'
import type { Account, Level, Repository, Team } from '../../../lib/records/schema/index.ts'
import { REVOKED } from '../labels.ts'
import { followLinks } from '../links.ts'
import { type Migration, OPERATOR } from '../migration.ts'
import type { Item, Things } from '../things.ts'
import type { TeamRights } from './rights.ts'

const ADDED = 'members who were added here to teams that the source has removed'

/** What is followed, and what the source has of it. */
interface Followed {
  readonly things: Things
  readonly items: Item[]
}

/** The name of a team in the migration log. */
const keyOf = ({ name }: Pick<TeamRights, 'name'>): string => name.toLowerCase()

/**
 * The copy of a team, whatever its name is here.
 * @param scope key of the organization
 */
export const copyOfTeam = async (
  { allot, migrationLog }: Migration,
  scope: string,
  team: TeamRights,
): Promise<Team | undefined> => {
  const id = (await migrationLog.get('team', scope, keyOf(team)))?.copy?.id
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
const shown = ({ units, ...members }: ReturnType<typeof editOf>) => ({
  ...members,
  units: units.map(({ unit, level }) => `${unit} ${level}`).sort(),
})
type Shown = ReturnType<typeof shown>

/** The teams of an organization with their rights. */
export const teamsOf = (
  { allot, names, migrationLog, report }: Migration,
  organization: Account,
  found: readonly TeamRights[],
): Followed => {
  const { teams } = allot.hosting
  const scope = names.keyHere(organization)
  const all = async () => {
    const listed = await allItems((slice) => teams.list(OPERATOR, organization.name, slice))
    return listed.flatMap(({ team }) => team ?? [])
  }
  const things: Things = {
    kind: 'team',
    scope,
    async find(key, copy) {
      const own = copy?.id === undefined ? undefined : (await teams.find(OPERATOR, copy.id))?.team
      const team = own ?? (await all()).find((one) => keyOf(one) === key)
      return team && { id: team.id, of: organization.id }
    },
    async members({ id }) {
      const { name, description, level, units, canCreate, allRepositories } = (await teams.find(
        OPERATOR,
        id!,
      ))!.team!
      return shown({ name, description, level, units, canCreate, allRepositories })
    },
    list: async () =>
      (await all()).map(({ id, name }) => ({ copy: { id, of: organization.id }, label: name })),
    async remove(key, { id }) {
      const members = await allItems((slice) => teams.members(OPERATOR, id!, slice))
      const copies = await migrationLog.list('teamMember', `${scope}/${key}`)
      const added = members.filter((member) => copies.every(({ copy }) => copy?.to !== member.id))
      for (const { name } of added) report.note('overwritten', ADDED, `${name} (${scope}/${key})`)
      await teams.remove(OPERATOR, id!)
      // Another team can get the name.
      await migrationLog.remove([
        ...copies,
        ...(await migrationLog.list('teamRepository', `${scope}/${key}`)),
      ])
    },
  }
  const items = found.map((team): Item => {
    const wanted = editOf(team)
    const values = shown(wanted)
    return {
      ...{ name: keyOf(team), label: team.name, values },
      narrowed: (here) => narrowed(here as Shown, values),
      create: async () => (await teams.create(OPERATOR, organization.name, wanted)) !== undefined,
      async edit({ id }, { units, ...others }: Partial<Shown>) {
        const {
          name: _,
          description: __,
          ...rights
        } = { ...others, ...(units && { units: units.map(unitOf) }) }
        if (Object.keys(rights).length > 0) report.note('revoked', REVOKED.team, `${team.name} (${scope})`)
        await teams.edit(OPERATOR, id!, () => ({ ...others, ...rights }))
      },
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

const unitOf = (text: string): TeamRights['units'][number] => {
  const [unit, level] = text.split(' ')
  return { unit, level } as TeamRights['units'][number]
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
  const things = followLinks<Account>(migration, {
    ...{ kind: 'teamMember', scope: `${names.keyHere(organization)}/${keyOf(team)}`, of: id },
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
  const things = followLinks<Repository>(migration, {
    ...{ kind: 'teamRepository', scope: `${names.keyHere(organization)}/${keyOf(team)}`, of: id },
    withKey: (name) => names.repositoryWithKey(name),
    all: (slice) => teamRepositories.list(OPERATOR, id, slice),
    has: (repository) => teamRepositories.find(OPERATOR, id, path(repository)),
    add: (repository) => teamRepositories.add(OPERATOR, id, path(repository)),
    remove: (repository) => teamRepositories.remove(OPERATOR, id, path(repository)),
  })
  const items = [...(team.repositories ?? [])].map((label) =>
    things.itemFor(names.repositoryKey(team.organization, label), label),
  )
  return { things, items }
}
