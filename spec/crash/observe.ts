import type { Send } from '../support/request.ts'
import { type Entry, type Facts, packageFact, type Visibility } from './client-model.ts'
import { filePath } from './file-operations.ts'
import { SHARED_REPOSITORIES } from './operation.ts'

interface Person {
  login: string
  full_name: string
  visibility: Visibility
}

interface ObservedRepository {
  id: number
  full_name: string
  owner: { login: string }
  private: boolean
  description: string
}

/** The state that the server answers, and where its answers contradict each other. */
export interface Observed {
  facts: Facts
  people: Person[]
  repositories: ObservedRepository[]
  contradictions: string[]
}

export interface Observer {
  ask: Send
  /** Token of an administrator, who sees everything. */
  token: string
}

/** The organizations of the clients that have users. */
export const organizationsOf = (people: readonly Pick<Person, 'login'>[]): string[] => [
  ...new Set(people.map(({ login }) => login.replace(/-.*/, '-o'))),
]

const PAGE = 50

/** Reads all pages of a list, and checks its total. */
const pages = async <T>(
  { ask }: Observer,
  path: string,
  contradictions: string[],
  token: string,
): Promise<T[]> => {
  const items: T[] = []
  for (let page = 1; ; page++) {
    const query = `${path.includes('?') ? '&' : '?'}limit=${PAGE}&page=${page}`
    const { status, body, headers } = await ask('GET', path + query, { token })
    if (status !== 200) throw new Error(`GET ${path} answered ${status}`)
    const found: T[] = Array.isArray(body) ? body : body.data
    items.push(...found)
    if (found.length === PAGE) continue
    const total = Number(headers.get('x-total-count'))
    if (total !== items.length)
      contradictions.push(`${path} has ${items.length} items and a total of ${total}`)
    return items
  }
}

/**
 * Reads the whole state of the clients.
 * @param entries ledger entries that can exist
 */
export const observe = async (observer: Observer, entries: readonly EntryKey[]): Promise<Observed> => {
  const contradictions: string[] = []
  const all = <T>(path: string) => pages<T>(observer, path, contradictions, observer.token)
  const [everyone, repositories] = await Promise.all([
    all<Person>('/admin/users'),
    all<ObservedRepository>('/repos/search'),
  ])
  const people = everyone.filter(({ login }) => /^f\d+-/.test(login))
  const facts: Facts = new Map()
  for (const { login, full_name: fullName, visibility } of people)
    facts.set(`user ${login}`, JSON.stringify({ fullName, visibility }))
  for (const { full_name, private: isPrivate, description } of repositories)
    if (!SHARED_REPOSITORIES.includes(full_name))
      facts.set(`repository ${full_name}`, JSON.stringify({ private: isPrivate, description }))
  await Promise.all([
    ...people.map(({ login }) => observePerson(all, login, facts)),
    ...[...people.map(({ login }) => login), ...organizationsOf(people)].map((owner) =>
      observePackages(observer, all, owner, facts),
    ),
    ...entries.map((entry) => observeEntry(observer, entry, facts)),
  ])
  return { facts, people, repositories, contradictions }
}

type All = <T>(path: string) => Promise<T[]>

const observePerson = async (all: All, login: string, facts: Facts): Promise<void> => {
  const user = `/users/${login}`
  const [stars, watches, follows, tokens, keys] = await Promise.all([
    all<ObservedRepository>(`${user}/starred`),
    all<ObservedRepository>(`${user}/subscriptions`),
    all<Person>(`${user}/following`),
    all<{ name: string }>(`${user}/tokens`),
    all<{ title: string; key: string }>(`${user}/keys`),
  ])
  for (const { full_name } of stars) facts.set(`star ${login} ${full_name}`, '')
  for (const { full_name } of watches) facts.set(`watch ${login} ${full_name}`, '')
  for (const followed of follows) facts.set(`follow ${login} ${followed.login}`, '')
  for (const { name } of tokens) facts.set(`token ${login} ${name}`, '')
  for (const { title, key } of keys) facts.set(`key ${login} ${title}`, key)
}

/** Reads each package with the content of its file. */
const observePackages = async (
  { ask, token }: Observer,
  all: All,
  owner: string,
  facts: Facts,
): Promise<void> => {
  const found = await all<{ name: string }>(`/packages/${owner}`)
  await Promise.all(
    found.map(async ({ name }) => {
      const { status, text } = await ask('GET', filePath({ owner, name }), { token })
      facts.set(...packageFact({ owner, name, content: status === 200 ? text : `status ${status}` }))
    }),
  )
}

type EntryKey = Pick<Entry, 'kind' | 'key' | 'count'>

/**
 * Reads an entry; of a bulk, which one batch wrote, the first and the last, since the usage covers the
 * others.
 */
const observeEntry = async (
  observer: Observer,
  { kind, key, count = 1 }: EntryKey,
  facts: Facts,
): Promise<void> => {
  const ends = count === 1 ? [key] : [`${key}-0`, `${key}-${count - 1}`]
  const found = await Promise.all(ends.map((end) => entryAt(observer, kind, end, count)))
  const [value, ...others] = new Set(found)
  if (others.length > 0) facts.set(`ledger ${key} ${kind}`, `in part: ${found}`)
  else if (value !== undefined) facts.set(`ledger ${key} ${kind}`, value)
}

const entryAt = async ({ ask, token }: Observer, kind: string, key: string, count: number) => {
  const { status, body } = await ask('GET', `/admin/ledger/${kind}/${key}`, { token })
  if (status === 404) return undefined
  const { repository, owner, name, size, on = null } = body
  return JSON.stringify({ place: repository ?? owner, name, size, on, count })
}
