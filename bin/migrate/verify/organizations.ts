import { profileAt } from '../accounts.ts'
import { apiPath, ifAvailable, reportErrors } from '../migration.ts'
import { repositoriesOf } from '../repositories.ts'
import { SourceOrganization, SourceUser } from '../shapes.ts'
import type { Source } from '../source.ts'
import { LOWERED } from '../teams/index.ts'
import { type TeamRights, teamRights } from '../teams/rights.ts'
import { OTHER_NAME } from './accounts.ts'
import type { Item } from './comparison.ts'
import type { Sides } from './sides.ts'

const OTHER_TEAM_NAME = 'teams with another name here'

/** Compares the profile of an organization, its members, and its teams with their rights. */
export const compareOrganization = (sides: Sides, given: SourceOrganization): Promise<void> =>
  reportErrors(sides.report, `the organization ${given.name}`, async () => {
    const { source, here, report, names, teams } = sides
    const account = await names.account(given.name)
    const expected = await teamsAt(source, given.name)
    teams.set(given.name.toLowerCase(), expected)
    if (account?.kind !== 'organization') return report.missing('organization', given.name)
    report.count('organization')
    if (account.name.toLowerCase() !== given.name.toLowerCase())
      report.note('renamed', OTHER_NAME, `${given.name} is ${account.name}`)
    const copy = await here.get(SourceOrganization, apiPath('orgs', account.name))
    report.fields('organization', given.name, profileAt(source, given), profileAt(here, copy))
    for (const { name, isLowered } of expected)
      if (isLowered) report.note('leftOut', LOWERED, `${name} of ${given.name}`)
    report.count('team', expected.length)
    const teamNames = await names.teams(account, expected)
    const items = await Promise.all(
      expected.map((team, index) => itemOf(sides, given.name, { ...team, name: teamNames[index]! })),
    )
    for (const [index, { name }] of expected.entries())
      if (name.toLowerCase() !== teamNames[index]!.toLowerCase())
        report.note('renamed', OTHER_TEAM_NAME, `${name} of ${given.name} is ${teamNames[index]}`)
    const found = await teamsAt(here, account.name)
    const none = async (name: string) => name
    const itemsHere = await Promise.all(found.map((team) => teamItem(team, none, none)))
    report.lists('team', given.name, items, itemsHere)
    await compareMembers(sides, given.name, account.name)
  })

const teamsAt = async (side: Source, organization: string): Promise<TeamRights[]> =>
  teamRights(side, organization, await repositoriesOf(side, 'organization', organization))

const itemOf = ({ names }: Sides, organization: string, team: TeamRights): Promise<Item> =>
  teamItem(
    team,
    async (login) => (await names.account(login))?.name.toLowerCase(),
    async (name) => (await names.repository(organization, name))?.repository.name.toLowerCase(),
  )

type NameHere = (name: string) => Promise<string | undefined>

const teamItem = async (team: TeamRights, userHere: NameHere, repositoryHere: NameHere): Promise<Item> => {
  const { name, description, isOwners, level, units, canCreate, users, repositories } = team
  const fields = {
    description,
    level,
    units: isOwners ? [] : units.map((unit) => `${unit.unit} ${unit.level}`).sort(),
    canCreate: isOwners || canCreate,
    members: await namesHere(users, userHere),
    repositories: repositories === undefined ? 'all' : await namesHere(repositories, repositoryHere),
  }
  return isOwners
    ? { name: 'Owners', fields: { members: fields.members } }
    : { name: name.toLowerCase(), fields }
}

const namesHere = async (names: ReadonlySet<string>, nameHere: NameHere): Promise<string[]> => {
  const found = await Promise.all([...names].map(nameHere))
  return found.filter((name) => name !== undefined).sort()
}

/** All members, and those who show it to everyone. */
const compareMembers = async (
  { source, here, report, names }: Sides,
  organization: string,
  copy: string,
): Promise<void> => {
  for (const [field, list] of [
    ['members', 'members'],
    ['public members', 'public_members'],
  ] as const) {
    const given = await ifAvailable(source.list(SourceUser, apiPath('orgs', organization, list)))
    const copied = await ifAvailable(here.list(SourceUser, apiPath('orgs', copy, list)))
    if (given === undefined || copied === undefined) continue
    const found = await Promise.all(given.map(({ login }) => names.account(login)))
    const expected = found.flatMap((account) => (account === undefined ? [] : [account.name.toLowerCase()]))
    const members = copied.map(({ login }) => login.toLowerCase())
    report.fields('organization', organization, { [field]: expected.sort() }, { [field]: members.sort() })
  }
}
