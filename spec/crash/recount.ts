import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { GitStorage } from '../../lib/git/index.ts'
import { waitFor } from '../support/wait-for.ts'
import type { Entry, Facts } from './client-model.ts'
import { type Observed, type Observer, organizationsOf, pages } from './observe.ts'

export interface RecountInput extends Observed, Observer {
  /** The directory with the git repositories. */
  directory: string
  /** Tokens of the users. */
  secrets: ReadonlyMap<string, string>
}

/**
 * Compares every counter and every other list with the observed facts, and adds differences to the
 * contradictions.
 */
export const recount = async (all: RecountInput): Promise<void> => {
  const organizations = organizationsOf(all.people)
  const owners = [...all.people.map(({ login }) => login), ...organizations]
  recountRepositories(all)
  await Promise.all([
    recountSearch(all),
    ...all.people.map((person) => recountRelations(all, person)),
    ...all.people.map(({ login, visibility }) => recountAnonymous(all, login, visibility === 'public')),
    ...owners.map((owner) => recountOwned(all, owner, organizations.includes(owner))),
    ...owners.map((owner) => recountUsage(all, owner, organizations.includes(owner))),
  ])
}

const expectSame = (
  { contradictions }: Pick<Observed, 'contradictions'>,
  what: string,
  answered: unknown,
  counted: unknown,
) => {
  const [actual, expected] = [JSON.stringify(answered), JSON.stringify(counted)]
  if (actual !== expected)
    contradictions.push(`${what}: the server answers ${actual}, but counted are ${expected}`)
}

const listOf = (all: RecountInput, path: string, token: string | undefined = all.token) =>
  pages<Record<string, unknown>>(all, path, all.contradictions, token)

const names = async (all: RecountInput, path: string, member: 'full_name' | 'login', token?: string) =>
  (await listOf(all, path, token)).map((item) => String(item[member])).sort()

/** Among facts of a kind with two names: the other name, where the first or the second is the given one. */
const namesIn = (facts: Facts, kind: string, at: 1 | 2, name: string): string[] =>
  [...facts.keys()]
    .map((fact) => fact.split(' '))
    .filter((words) => words[0] === kind && words[at] === name)
    .map((words) => words[3 - at]!)
    .sort()

const recountRepositories = (all: RecountInput) => {
  for (const { full_name, stars_count, watchers_count } of all.repositories) {
    expectSame(all, `stars of ${full_name}`, stars_count, namesIn(all.facts, 'star', 2, full_name).length)
    expectSame(
      all,
      `watchers of ${full_name}`,
      watchers_count,
      namesIn(all.facts, 'watch', 2, full_name).length + ownWatches(full_name),
    )
  }
  const open = all.repositories
    .filter(({ full_name }) => isOpen(all, full_name))
    .map(({ full_name }) => full_name)
  expectSame(all, 'the anonymous repository search', [...all.openRepositories].sort(), open.sort())
}

/** The administrator `ops`, whom no client models, watches the shared repositories. */
const ownWatches = (path: string): number => (path.startsWith('ops/') ? 1 : 0)

const isOpen = ({ repositories, people }: RecountInput, path: string): boolean => {
  const repository = repositories.find(({ full_name }) => full_name === path)
  const owner = people.find(({ login }) => login === repository?.owner.login)
  return repository?.private === false && (owner === undefined || owner.visibility === 'public')
}

/**
 * Checks that there is one directory for each repository; waits for them, since a start cleans up in the
 * background.
 */
export const recountFolders = async (
  all: Pick<RecountInput, 'directory' | 'contradictions'> & { repositories: readonly { id: number }[] },
): Promise<void> => {
  const ids = all.repositories.map(({ id }) => `${id}.git`).sort()
  let found: string[] = []
  await waitFor(async () => {
    found = (await readdir(all.directory, { recursive: true })).filter((path) => /^..\/[^/]+$/.test(path))
    found = found.map((path) => basename(path)).sort()
    return found.length === ids.length
  })
  expectSame(all, 'directories of repositories', ids, found)
}

const recountSearch = async (all: RecountInput) => {
  const found = (await names(all, '/users/search', 'login')).filter((login) => /^f\d+-/.test(login))
  expectSame(all, 'the user search', found, all.people.map(({ login }) => login).sort())
}

const recountRelations = async (all: RecountInput, { login }: Observed['people'][number]) => {
  const { body } = await all.ask('GET', `/users/${login}`, { token: all.token })
  const count = (kind: string, at: 1 | 2) => namesIn(all.facts, kind, at, login)
  expectSame(all, `followers of ${login}`, body.followers_count, count('follow', 2).length)
  expectSame(all, `users that ${login} follows`, body.following_count, count('follow', 1).length)
  expectSame(all, `stars by ${login}`, body.starred_repos_count, count('star', 1).length)
  expectSame(
    all,
    `the followers of ${login}`,
    await names(all, `/users/${login}/followers`, 'login'),
    count('follow', 2),
  )
}

const recountAnonymous = async (all: RecountInput, login: string, isPublic: boolean) => {
  if (!isPublic) {
    const { status } = await all.ask('GET', `/users/${login}/starred`)
    return expectSame(all, `status for the hidden user ${login}`, status, 404)
  }
  const starred = namesIn(all.facts, 'star', 1, login).filter((path) => isOpen(all, path))
  const found = await pages<{ full_name: string }>(all, `/users/${login}/starred`, all.contradictions)
  expectSame(
    all,
    `stars of ${login} for an anonymous viewer`,
    found.map(({ full_name }) => full_name).sort(),
    starred,
  )
}

const recountOwned = async (all: RecountInput, owner: string, isOrganization: boolean) => {
  const owned = all.repositories
    .filter((repository) => repository.owner.login === owner)
    .map(({ full_name }) => full_name)
  const path = `/${isOrganization ? 'orgs' : 'users'}/${owner}/repos`
  expectSame(all, `repositories of ${owner}`, await names(all, path, 'full_name'), owned.sort())
}

type Counted = Pick<Entry, 'kind' | 'name' | 'size'> & { on: Entry['on'] | null; count: number }

const entriesOf = ({ facts }: RecountInput, owner: string): Counted[] =>
  [...facts].flatMap(([fact, value]) => {
    const [record, , kind] = fact.split(' ')
    if (record !== 'ledger' && record !== 'package') return []
    const { place, ...entry } = JSON.parse(value)
    return place.split('/')[0] === owner ? [{ kind, ...entry } as Counted] : []
  })

const recountUsage = async (all: RecountInput, owner: string, isOrganization: boolean) => {
  const entries = entriesOf(all, owner)
  const path = isOrganization ? `/orgs/${owner}/quota` : `/admin/users/${owner}/quota`
  const { body } = await all.ask('GET', path, { token: all.token })
  expectSame(all, `usage of ${owner}`, body.used.size, await usageOf(all, owner, entries))
  const token = isOrganization ? all.token : all.secrets.get(owner)
  if (token === undefined) return
  const own = isOrganization ? path : '/user/quota'
  for (const kind of ['attachments', 'artifacts', 'packages'] as const) {
    const found = (await listOf(all, `${own}/${kind}`, token)).map(({ name, size }) => ({ name, size }))
    const counted = entries.filter((entry) => entry.kind === kind).map(({ name, size }) => ({ name, size }))
    expectSame(all, `${kind} of ${owner}`, found, counted.sort(largestFirst))
  }
}

const largestFirst = (left: { size: number; name: string }, right: { size: number; name: string }): number =>
  right.size - left.size || (left.name < right.name ? -1 : 1)

const usageOf = async (all: RecountInput, owner: string, entries: Counted[]) => {
  const git = new GitStorage({ directory: all.directory, git: 'git' })
  const owned = all.repositories.filter((repository) => repository.owner.login === owner)
  const bytes = async (isPrivate: boolean) => {
    const visible = owned.filter((repository) => repository.private === isPrivate)
    return sum(await Promise.all(visible.map(({ id }) => git.size(id))))
  }
  const sized = (kind: Entry['kind'], on: Counted['on'] = null) =>
    sum(
      entries
        .filter((entry) => entry.kind === kind && entry.on === on)
        .map(({ size, count }) => size * count),
    )
  return {
    repos: { public: await bytes(false), private: await bytes(true) },
    git: { LFS: sized('lfs') },
    assets: {
      attachments: { issues: sized('attachments', 'issue'), releases: sized('attachments', 'release') },
      artifacts: sized('artifacts'),
      packages: { all: sized('packages') },
    },
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0)
