/** The selectors of an export of owners, for collections whose records no single index of the owner lists. */
import { assignedTo } from '../quota/group-assignments.ts'
import {
  attachments,
  type CountedRelation,
  comments,
  deliveries,
  files,
  follows,
  groups,
  type Hook,
  hookQueues,
  hooks,
  issues,
  ledgerEntries,
  packageFiles,
  packageVersions,
  RELATIONS,
  REPOSITORY_AREAS,
  type Repository,
  releases,
  repositories,
  rules,
} from '../records/schema/index.ts'
import {
  countRelations,
  type Indexed,
  leaveOut,
  listed,
  type OwnerSelection,
  ofAccounts,
  ofRepositories,
  type Select,
  within,
} from './owner-selection.ts'

export const relation = ({ collection, title }: CountedRelation): Select =>
  within(title, ofAccounts(collection, 'account'), ({ repository }) => ({ repositories: [repository] }))

/**
 * The repositories with the numbers of stars, watchers and forks that they have among the selected accounts.
 */
export async function* selectRepositories(selection: OwnerSelection): AsyncGenerator<Repository> {
  const related: [CountedRelation, ReadonlyMap<number, number>][] = []
  for (const relation of RELATIONS)
    related.push([relation, await countRelations(selection, relation.collection)])
  const records = ofAccounts(repositories, 'id')
  const forks = new Map<number, number>()
  for await (const { parent } of records(selection))
    if (parent !== null) forks.set(parent, (forks.get(parent) ?? 0) + 1)
  for await (const repository of records(selection)) {
    const { id, parent } = repository
    const counts = related.map(([{ count, title }, counted]) => {
      const moved = counted.get(id) ?? 0
      leaveOut(selection, title, repository[count] - moved)
      return [count, moved] as const
    })
    leaveOut(selection, 'forks', repository.forks - (forks.get(id) ?? 0))
    const hasParent = parent !== null && selection.repositories.has(parent)
    if (parent !== null && !hasParent) leaveOut(selection, 'parents of forks', 1)
    yield {
      ...repository,
      parent: hasParent ? parent : null,
      ...Object.fromEntries(counts),
      forks: forks.get(id) ?? 0,
    }
  }
}

export async function* selectFiles({ tx, accounts, repositories }: OwnerSelection): AsyncGenerator<unknown> {
  for (const area of REPOSITORY_AREAS)
    for (const id of repositories) yield* listed(tx, files, 'owner', [area, id])
  for (const id of accounts.keys()) yield* listed(tx, files, 'owner', ['packages', id])
}

/** The records that an index has at each issue. */
export const ofIssues = <R, O extends string>(collection: Indexed<R, O>, index: O) =>
  async function* (selection: OwnerSelection): AsyncGenerator<R> {
    for await (const { id } of ofRepositories(issues, 'state')(selection))
      yield* listed(selection.tx, collection, index, [id])
  }
export const selectComments = ofIssues(comments, 'issue')

export async function* selectAttachments(selection: OwnerSelection): AsyncGenerator<unknown> {
  const targets = {
    issue: ofRepositories(issues, 'state'),
    comment: selectComments,
    release: ofRepositories(releases, 'time'),
  }
  for (const [on, records] of Object.entries(targets))
    for await (const { id } of records(selection))
      yield* listed(selection.tx, attachments, 'target', [on, id])
}

export async function* selectFollows(selection: OwnerSelection): AsyncGenerator<unknown> {
  yield* within('follows', ofAccounts(follows, 'following'), ({ followed }) => ({ accounts: [followed] }))(
    selection,
  )
  for await (const { follower } of ofAccounts(follows, 'followers')(selection))
    if (!selection.accounts.has(follower)) leaveOut(selection, 'follows', 1)
}

export async function* selectPackageFiles(selection: OwnerSelection): AsyncGenerator<unknown> {
  for await (const { id } of ofAccounts(packageVersions, 'created')(selection))
    yield* listed(selection.tx, packageFiles, 'version', [id])
}

export async function* selectEntries(selection: OwnerSelection): AsyncGenerator<unknown> {
  // Entries of a repository that was deleted are removed by a job.
  for await (const entry of ofAccounts(ledgerEntries, 'main')(selection))
    if (entry.repository === null || selection.repositories.has(entry.repository)) yield entry
  yield* ofRepositories(ledgerEntries, 'overflow')(selection)
}

export const groupsOf = async ({ tx, accounts }: OwnerSelection) => {
  const names = new Set<string>()
  for (const id of accounts.keys()) for (const name of await assignedTo(tx, id)) names.add(name)
  return groups.byNames(tx, names)
}

export async function* selectRules(selection: OwnerSelection): AsyncGenerator<unknown> {
  const names = new Set((await groupsOf(selection)).flatMap((group) => group.rules))
  yield* await rules.byNames(selection.tx, names)
}

export async function* selectHooks({ tx, accounts, repositories }: OwnerSelection): AsyncGenerator<Hook> {
  for (const id of repositories) yield* listed(tx, hooks, 'target', ['repository', id])
  for (const id of accounts.keys()) yield* listed(tx, hooks, 'target', ['account', id])
}

export async function* selectDeliveries(selection: OwnerSelection): AsyncGenerator<unknown> {
  for await (const { id } of selectHooks(selection)) yield* listed(selection.tx, deliveries, 'hook', [id])
}

export async function* selectHookQueues(selection: OwnerSelection): AsyncGenerator<unknown> {
  for await (const { id } of selectHooks(selection)) {
    const queue = await hookQueues.get(selection.tx, [id])
    if (queue !== undefined) yield queue
  }
}
