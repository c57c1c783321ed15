import assert from 'node:assert/strict'
import { accountByName } from '../../lib/accounts/find.ts'
import { canChangePackages, canCreateIn, rightsOn } from '../../lib/accounts/rights.ts'
import type { TestServer } from '../support/test-server.ts'
import { type Model, type ModelRepository, type Rights, rightsAt } from './model.ts'
import type { Target } from './two.ts'

const SECRETS = new WeakMap<TestServer['allot'], Map<number, string>>()

/**
 * Rights of a user here, from the API and the domain. An account that may not sign in has the rights of
 * everyone.
 * @param isPublic whether everyone sees the repository; it is asked for when absent
 */
export const rightsHere = async (
  target: Target,
  login: string | undefined,
  { owner, name }: ModelRepository,
  isPublic?: boolean,
): Promise<Rights> => {
  const { accounts } = target.allot.hosting
  const account = login === undefined ? undefined : await accounts.byName(login)
  const token = account?.active === true ? await secretOf(target, account.id) : undefined
  const { status, body } = await target.request(
    'GET',
    `/repos/${owner}/${name}`,
    token === undefined ? {} : { token },
  )
  const { admin, push } = status === 200 ? body.permissions : { admin: false, push: false }
  const isArchived = status === 200 && body.archived
  const seen = status !== 200 ? 0 : admin ? 3 : push && !isArchived ? 2 : 1
  const parts = await partsHere(target, account, { owner, name }, isArchived)
  isPublic ??= (await target.request('GET', `/repos/${owner}/${name}`)).status === 200
  const right = (part: 'code' | 'issues' | 'releases') =>
    token === undefined ? seen : Math.max(isPublic || isOpen(seen, parts) ? 1 : 0, parts[part])
  const inside = token !== undefined && (await createsHere(target, account!, owner))
  const create = token !== undefined && (inside || account!.admin || login === owner)
  return {
    ...{ code: right('code'), issues: right('issues'), releases: right('releases') },
    packages: parts.packages,
    ...{ everyBranch: Number(right('code') >= 2), create: Number(create) },
  }
}

/** Whether the repository is seen although nothing gives a right on it. */
const isOpen = (seen: number, parts: Parts): boolean =>
  seen > 0 && parts.code + parts.issues + parts.releases === 0

type Parts = Record<'code' | 'issues' | 'releases' | 'packages', number>

const partsHere = async (
  { allot, store }: Target,
  account: { id: number; admin: boolean; active: boolean } | undefined,
  { owner, name }: { owner: string; name: string },
  isArchived: boolean,
): Promise<Parts> => {
  const operator = { id: 0, admin: true }
  const repository = await allot.hosting.repositories.find(operator, owner, name)
  const none = { code: 0, issues: 0, releases: 0, packages: 0 }
  if (account?.active !== true || repository === undefined) return none
  return store.read(async (tx) => {
    const rights = await rightsOn(tx, account, repository)
    const lowered = (right: number) => (isArchived && right === 2 ? 1 : right)
    const writes = account.admin || (await canChangePackages(tx, account.id, repository.owner))
    return {
      ...{ code: lowered(rights.code), issues: lowered(rights.issues), releases: lowered(rights.releases) },
      packages: writes ? 2 : 0,
    }
  })
}

const createsHere = ({ store }: Target, account: { id: number }, owner: string): Promise<boolean> =>
  store.read(async (tx) => {
    const found = await accountByName(tx, owner)
    return found !== undefined && canCreateIn(tx, account.id, found.id)
  })

const secretOf = async ({ allot }: TestServer, id: number): Promise<string> => {
  const secrets = SECRETS.get(allot) ?? new Map<number, string>()
  SECRETS.set(allot, secrets)
  const secret = secrets.get(id) ?? (await allot.hosting.tokens.create(id, 'rights', ['all'])).secret
  secrets.set(id, secret)
  return secret
}

/** What is compared of a user and a repository. */
type EachRight = (login: string | undefined, repository: ModelRepository, here: Rights) => void

const eachRight = async (target: Target, model: Model, look: EachRight): Promise<void> => {
  for (const repository of model.repositories) {
    const { status } = await target.request('GET', `/repos/${repository.owner}/${repository.name}`)
    for (const login of [undefined, ...model.users.map((one) => one.login)])
      look(login, repository, await rightsHere(target, login, repository, status === 200))
  }
}

const nameOf = (login: string | undefined, { owner, name }: ModelRepository) => `${login} on ${owner}/${name}`

/** The rights here of everyone in the model, by user and repository. */
export const rightsNow = async (target: Target, model: Model): Promise<ReadonlyMap<string, Rights>> => {
  const found = new Map<string, Rights>()
  await eachRight(target, model, (login, repository, here) => found.set(nameOf(login, repository), here))
  return found
}

/**
 * @param before rights that a user may still have
 * @returns a line for each right that is more here than at the source
 */
export const excessesOf = async (
  target: Target,
  model: Model,
  before: ReadonlyMap<string, Rights> = new Map(),
): Promise<string[]> => {
  const lines: string[] = []
  await eachRight(target, model, (login, repository, here) => {
    const name = nameOf(login, repository)
    const there = rightsAt(model, login, repository)
    for (const right of Object.keys(here) as (keyof Rights)[])
      if (here[right] > Math.max(there[right], before.get(name)?.[right] ?? 0))
        lines.push(`${name}: ${right} is ${here[right]}, ${there[right]} at the source`)
  })
  return lines
}

export const assertNoExcess = async (target: Target, model: Model): Promise<void> =>
  assert.deepEqual(await excessesOf(target, model), [])
