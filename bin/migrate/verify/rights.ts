import * as v from 'valibot'
import { nameOfRight, RIGHT, type Right } from '../../../lib/accounts/rights.ts'
import { canSignIn } from '../accounts.ts'
import { ifAvailable, reportErrors } from '../migration.ts'
import type { CopiedRepository } from '../repositories.ts'
import { repositoryPath } from '../repositories.ts'
import { SourceLogin, type SourceUser } from '../shapes.ts'
import { ANONYMOUS, type Source } from '../source.ts'
import { isProtected } from '../teams/rights.ts'
import type { Sides } from './sides.ts'

const LOWERED =
  'rights to write to repositories with protected branches or tags, which are rights to read here'
const OF_MEMBERS =
  'rights to read what is public in a private organization, which its members have here by their teams only'
const SEVERAL =
  'rights of collaborators who are in a team as well: the source does not show them, and they have those of the team here'

const Found = v.object({
  full_name: v.string(),
  archived: v.nullish(v.boolean(), false),
  permissions: v.nullish(v.object({ admin: v.boolean(), push: v.boolean(), pull: v.boolean() })),
})
type Found = v.InferOutput<typeof Found>

/**
 * The rights of a viewer, by the path of the repository in lower case. Repositories that the viewer cannot
 * see are absent.
 */
type Rights = ReadonlyMap<string, Right>

/**
 * Compares what each user, and everyone without an account, may do with each repository: one list for each
 * user on each side. A lesser right here is a difference unless a migration lowers it by design. A greater
 * right always is.
 * @param user undefined: everyone
 */
export const compareRights = async (
  sides: Sides,
  user: SourceUser | undefined,
  pairs: readonly CopiedRepository[],
): Promise<void> => {
  const { source, here, report, names } = sides
  // A user who may not sign in has the rights of everyone, on both sides.
  if (user !== undefined && !canSignIn(user)) return
  await reportErrors(report, `the rights of ${user?.login ?? 'everyone'}`, async () => {
    const account = user && (await names.accountOf(user.login))
    if (user !== undefined && (account?.kind !== 'user' || !account.active)) return
    const [there, copied] = [await rightsOf(source, user?.login), await rightsOf(here, account?.name)]
    for (const pair of pairs) await compareRight(sides, user?.login ?? 'everyone', pair, there, copied)
  })
}

const compareRight = async (
  sides: Sides,
  login: string,
  pair: CopiedRepository,
  there: Rights,
  here: Rights,
) => {
  const { report } = sides
  const expected = there.get(pair.given.full_name.toLowerCase()) ?? 0
  const actual = here.get(`${pair.owner.name}/${pair.repository.name}`.toLowerCase()) ?? 0
  report.count('rights of a user on a repository', 'found')
  if (expected === actual) return
  if (actual < expected && (await isLowered(sides, login, pair, expected))) return
  const name = `${login} on ${pair.given.full_name}`
  report.fields('right', name, { right: nameOfRight(expected) }, { right: nameOfRight(actual) })
}

/** @param login undefined: without an account */
const rightsOf = async (side: Source, login: string | undefined): Promise<Rights> => {
  const as = login === undefined ? ANONYMOUS : { sudo: login }
  const found = (await ifAvailable(side.search(Found, '/repos/search?sort=id', as))) ?? []
  return new Map(found.map((repository) => [repository.full_name.toLowerCase(), rankOf(repository)]))
}

/** An archived repository cannot be written to. */
const rankOf = ({ permissions, archived }: Found): Right => {
  if (permissions?.admin) return RIGHT.admin
  if (permissions?.push && !archived) return RIGHT.write
  return permissions?.pull === false ? RIGHT.none : RIGHT.read
}

/** Whether a migration gives less than the source by design. */
const isLowered = async (
  { source, report, teams }: Sides,
  login: string,
  { given }: CopiedRepository,
  expected: Right,
): Promise<boolean> => {
  const label = `${login} on ${given.full_name}`
  const own = (teams.get(given.owner.login.toLowerCase()) ?? []).filter(({ users }) =>
    users.has(login.toLowerCase()),
  )
  if (
    expected === RIGHT.write &&
    (own.some((team) => team.isLowered) || (await isProtected(source, given)))
  ) {
    report.note('leftOut', LOWERED, label)
    return true
  }
  if (own.length === 0) return false
  if (expected === RIGHT.read && given.internal) {
    report.note('leftOut', OF_MEMBERS, label)
    return true
  }
  const users = (await ifAvailable(source.list(SourceLogin, `${repositoryPath(given)}/collaborators`))) ?? []
  const isCollaborator = users.some((user) => user.login.toLowerCase() === login.toLowerCase())
  if (isCollaborator) report.note('leftOut', SEVERAL, label)
  return isCollaborator
}
