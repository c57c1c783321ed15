import { createHash } from 'node:crypto'
import {
  type Level,
  type Model,
  type ModelHook,
  type ModelOrganization,
  type ModelRepository,
  type ModelTeam,
  type ModelUser,
  rightsAt,
} from './model.ts'

/** A source in this process, to which requests are sent without a socket. */
export interface ModelSource {
  base: string
  /** For `Limits`. */
  fetch(url: string, request: RequestInit): Promise<Response>
  model: Model
  /** Statuses of errors, by the path below the API. */
  answers: Readonly<Record<string, number>>
}

/** Items on a page, so that every list has several. */
const PAGE = 3

/** A source that speaks the wire format of a Gitea, and answers what an administrator of the model sees. */
export const modelSource = (model: Model): ModelSource => {
  const source: ModelSource = {
    base: 'http://source.example.test',
    model,
    answers: {},
    fetch: async (url, { headers }) => answerTo(source, new URL(url), new Headers(headers)),
  }
  return source
}

const send = (status: number, body: unknown, headers = {}) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })

const answerTo = (
  { model, answers }: ModelSource,
  { pathname, searchParams }: URL,
  headers: Headers,
): Response => {
  const path = decodeURIComponent(pathname.replace('/api/v1', ''))
  const [sudo, isSignedIn] = [headers.get('sudo'), headers.has('authorization')]
  if (!isSignedIn && !model.open)
    return send(403, { message: 'Only signed in user is allowed to call APIs.' })
  const acting = model.users.find(({ login }) => login === sudo)
  if (sudo !== null && (acting === undefined || !acting.active || acting.prohibited))
    return send(403, { message: 'forbidden' })
  const error = answers[path]
  if (error !== undefined) return send(error, { message: 'not shown' })
  const page = Number(searchParams.get('page') ?? 1)
  const onPage = (all: readonly unknown[]) => all.slice((page - 1) * PAGE, page * PAGE)
  if (path === '/repos/search') {
    const found = visibleTo(model, isSignedIn ? (sudo ?? 'root1') : undefined)
    return send(200, { ok: true, data: onPage(found) }, { 'x-total-count': `${found.length}` })
  }
  const found = answerAt(model, path)
  if (found === undefined) return send(404, { message: 'The target could not be found.' })
  if (!Array.isArray(found)) return send(200, found)
  return send(200, onPage(found), { 'x-total-count': `${found.length}` })
}

/** The id of something that the model gives none. */
const idOf = (name: string): number =>
  Number.parseInt(createHash('sha256').update(name).digest('hex').slice(0, 8), 16) + 1000

const userIn = (one: ModelUser) => ({
  id: one.id ?? idOf(one.login),
  ...{ login: one.login, email: `${one.login}@example.org`, is_admin: one.admin, active: one.active },
  ...{ prohibit_login: one.prohibited, restricted: one.restricted, visibility: one.visibility, source_id: 0 },
})

const organizationIn = ({ id, name, visibility, email }: ModelOrganization) => ({
  id: id ?? idOf(name),
  ...{ name, username: name, visibility, email },
})

const hookIn = ({ id, url, type = 'gitea', events = ['push'] }: ModelHook) => ({
  ...{ id, type, events, active: true, branch_filter: '*', authorization_header: 'Bearer hidden' },
  config: { url, content_type: 'json' },
})

const repositoryId = ({ id, owner, name }: ModelRepository) => id ?? idOf(`${owner}/${name}`)
const repositoryIn = (model: Model) => (one: ModelRepository) => ({
  id: repositoryId(one),
  ...{ name: one.name, full_name: `${one.owner}/${one.name}`, owner: { login: one.owner }, empty: true },
  ...{ private: one.private, archived: one.archived },
  ...(one.avatar && { avatar_url: `https://git.example.org${one.avatar}` }),
  // As Gitea says of what is public in a private owner.
  internal:
    !one.private &&
    model.organizations.some(({ name, visibility }) => name === one.owner && visibility === 'private'),
})

const teamIn = (one: ModelTeam) => ({
  ...{ id: one.id, name: one.name, permission: one.level, can_create_org_repo: one.create },
  ...{ includes_all_repositories: one.all, units_map: one.units, units: Object.keys(one.units) },
})

/** The response body at a path; undefined for 404. */
const answerAt = (model: Model, path: string): unknown => {
  const [, kind, first = '', second = '', third = ''] = path.split('/')
  const users = (logins: readonly string[]) =>
    model.users.filter(({ login }) => logins.includes(login)).map(userIn)
  if (path === '/version') return { version: '1.26.0' }
  if (path === '/user') return userIn(model.users.find(({ login }) => login === 'root1')!)
  if (path === '/admin/users') return model.users.map(userIn)
  if (path === '/admin/orgs') return model.organizations.map(organizationIn)
  if (kind === 'user') return []
  if (kind === 'users') return ofUser(model, first, second)
  if (kind === 'orgs') return ofOrganization(model, first, second, users)
  if (kind === 'repositories') {
    const found = model.repositories.find((one) => repositoryId(one) === Number(first))
    return found && repositoryIn(model)(found)
  }
  if (kind === 'teams') return ofTeam(model, Number(first), second, users)
  const permissionOf = /^\/repos\/([^/]+)\/([^/]+)\/collaborators\/([^/]+)\/permission$/.exec(path)
  if (permissionOf !== null) return { permission: permissionAt(model, permissionOf.slice(1) as Names) }
  if (kind === 'repos') return ofRepository(model, first, second, third, users)
  return undefined
}

/** Repositories that a user can see, with what the user may do. */
const visibleTo = (model: Model, login: string | undefined): unknown[] =>
  model.repositories.flatMap((one) => {
    const { code, issues, releases } = rightsAt(model, login, one)
    const permissions = { admin: code === 3, push: code >= 2, pull: code >= 1 }
    return code + issues + releases === 0 ? [] : [{ ...repositoryIn(model)(one), permissions }]
  })

type Names = [owner: string, repository: string, login: string]

/** As Gitea tells it: the greatest of all rights of the user, whatever gives them. */
const permissionAt = (model: Model, [owner, name, login]: Names): Level => {
  const user = model.users.find((one) => one.login === login)
  const repository = model.repositories.find((one) => one.owner === owner && one.name === name)
  if (user?.admin || login === owner) return 'owner'
  const teams = model.organizations
    .filter((one) => one.name === owner)
    .flatMap((one) => one.teams.filter(({ members }) => members.includes(login)))
    .filter(({ level, all, repositories }) => level === 'owner' || all || repositories.includes(name))
  const levels = [repository?.collaborators[login] ?? 'none', ...teams.map(({ level }) => level)]
  return (['owner', 'admin', 'write', 'read', 'none'] as const).find((level) => levels.includes(level))!
}

type Users = (logins: readonly string[]) => unknown[]

const ofUser = (model: Model, login: string, list: string): unknown => {
  const user = model.users.find((one) => one.login === login)
  if (user === undefined) return undefined
  const repositories = model.repositories.filter(({ owner }) => owner === login)
  const lists: Record<string, unknown> = {
    ...{ '': userIn(user), gpg_keys: [], subscriptions: [], tokens: [] },
    repos: repositories.map(repositoryIn(model)),
    keys: user.keys.map((key, at) => ({ id: at, title: `key ${at}`, key })),
    following: model.users.filter((one) => user.follows.includes(one.login)).map(userIn),
    starred: model.repositories
      .filter(({ owner, name }) => user.stars.includes(`${owner}/${name}`))
      .map(repositoryIn(model)),
  }
  return lists[list]
}

const ofOrganization = (model: Model, name: string, list: string, users: Users): unknown => {
  const found = model.organizations.find((one) => one.name === name)
  if (found === undefined) return undefined
  const lists: Record<string, unknown> = {
    '': organizationIn(found),
    members: users(found.teams.flatMap(({ members }) => members)),
    teams: found.teams.map(teamIn),
    hooks: (found.hooks ?? []).map(hookIn),
    repos: model.repositories.filter(({ owner }) => owner === name).map(repositoryIn(model)),
  }
  return lists[list]
}

const ofTeam = (model: Model, id: number, list: string, users: Users): unknown => {
  const organization = model.organizations.find(({ teams }) => teams.some((one) => one.id === id))
  const team = organization?.teams.find((one) => one.id === id)
  if (organization === undefined || team === undefined) return undefined
  if (list === 'members') return users(team.members)
  return model.repositories
    .filter(({ owner, name }) => owner === organization.name && team.repositories.includes(name))
    .map(repositoryIn(model))
}

const ofRepository = (model: Model, owner: string, name: string, list: string, users: Users): unknown => {
  const found = model.repositories.find((one) => one.owner === owner && one.name === name)
  if (found === undefined) return undefined
  const lists: Record<string, unknown> = {
    '': repositoryIn(model)(found),
    hooks: (found.hooks ?? []).map(hookIn),
    branch_protections: found.protected ? [{ branch_name: 'main' }] : [],
    tag_protections: [],
    collaborators: users(Object.keys(found.collaborators)),
  }
  return lists[list]
}
