import assert from 'node:assert/strict'
import type { TestServer } from '../support/test-server.ts'
import { type Model, type ModelRepository, type Rights, rightsAt } from './model.ts'

const SECRETS = new WeakMap<TestServer['allot'], Map<number, string>>()

/** Rights of a user here, from the API and the domain. An account that may not sign in has the rights of everyone. */
export const rightsHere = async (
  target: TestServer,
  login: string | undefined,
  { owner, name }: ModelRepository,
): Promise<Rights> => {
  const { accounts, organizations } = target.allot.hosting
  const account = login === undefined ? undefined : await accounts.byName(login)
  const token = account?.active === true ? await secretOf(target, account.id) : undefined
  const { status, body } = await target.request(
    'GET',
    `/repos/${owner}/${name}`,
    token === undefined ? {} : { token },
  )
  const { admin, push } = status === 200 ? body.permissions : { admin: false, push: false }
  const rank = status !== 200 ? 0 : admin ? 3 : push && !body.archived ? 2 : 1
  const isMember =
    token !== undefined && (await organizations.hasMember({ id: 0, admin: true }, owner, login!))
  const create = token !== undefined && (isMember || account!.admin || login === owner)
  return {
    ...{ code: rank, issues: rank, releases: rank, packages: rank },
    ...{ everyBranch: Number(rank >= 2), create: Number(create) },
  }
}

const secretOf = async ({ allot }: TestServer, id: number): Promise<string> => {
  const secrets = SECRETS.get(allot) ?? new Map<number, string>()
  SECRETS.set(allot, secrets)
  const secret = secrets.get(id) ?? (await allot.hosting.tokens.create(id, 'rights', ['all'])).secret
  secrets.set(id, secret)
  return secret
}

/** @returns a line for each right that is more here than at the source */
export const excessesOf = async (target: TestServer, model: Model): Promise<string[]> => {
  const lines: string[] = []
  for (const repository of model.repositories)
    for (const login of [undefined, ...model.users.map((one) => one.login)]) {
      const [here, there] = [await rightsHere(target, login, repository), rightsAt(model, login, repository)]
      for (const right of Object.keys(here) as (keyof Rights)[])
        if (here[right] > there[right])
          lines.push(
            `${login} on ${repository.owner}/${repository.name}: ${right} is ${here[right]}, ${there[right]} at the source`,
          )
    }
  return lines
}

export const assertNoExcess = async (target: TestServer, model: Model): Promise<void> =>
  assert.deepEqual(await excessesOf(target, model), [])
