import * as v from 'valibot'
import { showsIssues, uploaded } from '../content/issues.ts'
import { ifAvailable, reportErrors } from '../migration.ts'
import { repositoryPath } from '../repositories.ts'
import { type SourceAttachment, SourceComment, SourceIssue, SourceRelease } from '../shapes.ts'
import type { Source } from '../source.ts'
import { dateOf, type Fields, type Item } from './comparison.ts'
import { pathHere, type RepositoryPair } from './repositories.ts'
import type { Sides } from './sides.ts'

const IssueNumber = v.object({ number: v.number() })

/** The name here of who wrote something. */
type Person = (login: string) => Promise<string>
const asNamed: Person = async (login) => login.toLowerCase()

/** Compares the issues of a repository one by one, with their comments and attachments. */
export const compareIssues = (sides: Sides, pair: RepositoryPair): Promise<void> =>
  reportErrors(sides.report, `the issues of ${pair.given.full_name}`, async () => {
    const { source } = sides
    const path = `${repositoryPath(pair.given)}/issues`
    const isShown = await showsIssues(source, path)
    const numbers = new Set<number>()
    let copies = 0
    const issues = isShown ? source.items(SourceIssue, `${path}?state=all&type=issues`) : []
    for await (const issue of issues) {
      if (issue.pull_request) continue
      numbers.add(issue.number)
      if (await compareIssue(sides, pair, issue)) copies++
    }
    await findAdditional(sides, pair, numbers, copies)
  })

/** @param copies how many of the numbers exist here */
const findAdditional = async (
  { here, report }: Sides,
  pair: RepositoryPair,
  numbers: ReadonlySet<number>,
  copies: number,
): Promise<void> => {
  const path = `${pathHere(pair)}/issues?state=all&type=issues`
  if ((await here.count(path)) <= copies) return
  for await (const { number } of here.items(IssueNumber, path))
    if (!numbers.has(number)) report.additional('issue', `${pair.given.full_name}#${number}`)
}

/** @returns whether it exists here */
const compareIssue = async (sides: Sides, pair: RepositoryPair, issue: SourceIssue): Promise<boolean> => {
  const { source, here, report, names } = sides
  const name = `${pair.given.full_name}#${issue.number}`
  const copyPath = `${pathHere(pair)}/issues/${issue.number}`
  const copy = await ifAvailable(here.get(SourceIssue, copyPath))
  if (copy === undefined) {
    report.missing('issue', name)
    return false
  }
  report.count('issue')
  const person: Person = (login) => names.person(login)
  const given = { ...(await issueFields(issue, person)), attachments: filesIn(sides, name, issue.assets) }
  const found = { ...(await issueFields(copy, asNamed)), attachments: filesIn(sides, name, copy.assets) }
  report.fields('issue', name, given, found)
  if (issue.comments === 0 && copy.comments === 0) return true
  const comments = (side: Source, path: string) => side.list(SourceComment, `${path}/comments`)
  const path = `${repositoryPath(pair.given)}/issues/${issue.number}`
  const [expected, actual] = [
    await Promise.all((await comments(source, path)).map((one) => commentItem(sides, name, one, person))),
    await Promise.all((await comments(here, copyPath)).map((one) => commentItem(sides, name, one, asNamed))),
  ]
  report.count('comment', expected.length)
  report.lists('comment', name, expected, actual)
  return true
}

const issueFields = async (issue: SourceIssue, person: Person): Promise<Fields> => {
  const { title, body, state, user, created_at, updated_at, closed_at } = issue
  const updated = updated_at ?? created_at
  return {
    title,
    body,
    state,
    author: await person(user),
    created: dateOf(created_at),
    updated: dateOf(updated),
    closed: state === 'closed' ? dateOf(closed_at ?? updated) : null,
  }
}

/** A comment is recognized by its author and its date. */
const commentItem = async (
  sides: Sides,
  issue: string,
  comment: SourceComment,
  person: Person,
): Promise<Item> => {
  const { body, user, assets, created_at, updated_at } = comment
  const author = await person(user)
  const attachments = filesIn(sides, issue, assets)
  const updated = dateOf(updated_at ?? created_at)
  return { name: `${author} ${dateOf(created_at)}`, fields: { body, updated, attachments } }
}

/** Attachments as texts: what they are called, how large they are, and when they were added. */
const filesIn = ({ report }: Sides, name: string, assets: readonly SourceAttachment[]): string[] =>
  uploaded(report, name, assets)
    .map((asset) => `${asset.name}, ${asset.size} bytes, ${dateOf(asset.created_at) ?? ''}`)
    .sort()

/** Compares the releases of a repository, drafts too, with their files. */
export const compareReleases = (sides: Sides, pair: RepositoryPair): Promise<void> =>
  reportErrors(sides.report, `the releases of ${pair.given.full_name}`, async () => {
    const { source, here, report, names } = sides
    const { full_name: name } = pair.given
    const item = async (release: SourceRelease, person: Person): Promise<Item> => {
      const { tag_name: tag, target_commitish: target, draft, prerelease, created_at } = release
      const published = draft ? null : dateOf(release.published_at ?? created_at)
      const texts = { target, title: release.name, body: release.body, draft, prerelease }
      const dates = { created: dateOf(created_at), published }
      const files = filesIn(sides, `${name} ${tag}`, release.assets)
      return { name: tag, fields: { ...texts, ...dates, author: await person(release.author), files } }
    }
    const read = async (side: Source, path: string, person: Person) => {
      const found = (await ifAvailable(side.list(SourceRelease, `${path}/releases`))) ?? []
      return Promise.all(found.map((release) => item(release, person)))
    }
    const given = await read(source, repositoryPath(pair.given), (login) => names.person(login))
    report.count('release', given.length)
    report.lists('release', name, given, await read(here, pathHere(pair), asNamed))
  })
