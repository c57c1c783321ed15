import { allItems } from '../../../lib/records/pages.ts'
import { audienceOf, type Visibility } from '../../../lib/records/schema/index.ts'
import { collaboratorLevel } from '../collaborators.ts'
import { apiPath, ifAvailable, OPERATOR, reportErrors } from '../migration.ts'
import { audienceAt, audienceHere, FORK, repositoryPath } from '../repositories.ts'
import { SourceRepository, SourceUser } from '../shapes.ts'
import { dateOf, type Fields, type Item } from './comparison.ts'
import type { RepositoryHere, Sides } from './sides.ts'

const OTHER_NAME = 'repositories with another name here'

/** A repository that exists on both sides. */
export interface RepositoryPair extends RepositoryHere {
  readonly given: SourceRepository
}

/** Path of a repository in the API here. */
export const pathHere = ({ owner, repository }: RepositoryHere): string =>
  apiPath('repos', owner.name, repository.name)

/**
 * Compares what the record of a repository has.
 * @param visibility of its owner at the source
 * @returns undefined when it does not exist here
 */
export const compareRepository = async (
  sides: Sides,
  given: SourceRepository,
  visibility: Visibility,
): Promise<RepositoryPair | undefined> => {
  let pair: RepositoryPair | undefined
  await reportErrors(sides.report, `the repository ${given.full_name}`, async () => {
    const { source, here, report, names } = sides
    const found = await names.repository(given.owner.login, given.name, given.id)
    if (found === undefined) return report.missing('repository', given.full_name)
    report.count('repository')
    pair = { ...found, given }
    if (found.path.toLowerCase() !== given.full_name.toLowerCase())
      report.note('renamed', OTHER_NAME, `${given.full_name} is ${found.path}`)
    const copy = await here.get(SourceRepository, pathHere(found))
    const audiences = [audienceAt(source, visibility, given), audienceHere(found.owner, found.repository)]
    const [expected, actual] = audiences.map(
      (audience) => Object.entries(audienceOf).find(([, value]) => value === audience)?.[0],
    )
    report.fields(
      'repository',
      given.full_name,
      { ...fieldsOf(given), parent: await parentOf(sides, given), 'visible to': expected },
      { ...fieldsOf(copy), parent: pathOf(copy.parent) ?? 'none', 'visible to': actual },
    )
    await compareCollaborators(sides, pair)
  })
  return pair
}

const fieldsOf = (repository: SourceRepository): Fields => ({
  description: repository.description,
  website: repository.website,
  archived: repository.archived,
  // The source may refuse the git data of an inactive owner.
  empty: repository.owner.active ? repository.empty : undefined,
  'default branch': repository.default_branch || undefined,
  topics: repository.topics?.map((topic) => topic.toLowerCase()).sort(),
  created: dateOf(repository.created_at),
  updated: dateOf(repository.updated_at),
})

const pathOf = (parent: SourceRepository['parent']): string | undefined =>
  parent ? `${parent.owner.login}/${parent.name}`.toLowerCase() : undefined

/** Path here of the repository that a fork of the source was forked from. */
const parentOf = async ({ names, report }: Sides, { fork, parent, full_name }: SourceRepository) => {
  if (!fork) return 'none'
  const found = parent ? await names.repository(parent.owner.login, parent.name) : undefined
  if (found === undefined) report.note('notCopied', FORK, full_name)
  return found?.path.toLowerCase() ?? 'none'
}

const compareCollaborators = async (sides: Sides, pair: RepositoryPair): Promise<void> => {
  const { source, hosting, report, names } = sides
  const { given, owner, repository } = pair
  const users = await ifAvailable(source.list(SourceUser, `${repositoryPath(given)}/collaborators`))
  if (users === undefined) return
  const path = { owner: owner.name, name: repository.name }
  const expected: Item[] = []
  for (const { login } of users) {
    const level = await collaboratorLevel(sides, given, login)
    const account = await names.account(login)
    if (level !== undefined && account !== undefined)
      expected.push({ name: account.name.toLowerCase(), fields: { level } })
  }
  const found = await allItems((slice) => hosting.collaborators.list(OPERATOR, path, slice))
  const here: Item[] = []
  for (const { name } of found) {
    const shown = await hosting.collaborators.permission(OPERATOR, path, name)
    here.push({ name: name.toLowerCase(), fields: { level: shown?.permission } })
  }
  if (expected.length + here.length > 0) report.count('collaborator')
  report.lists('collaborator', given.full_name, expected, here)
}
