import type { RequestListener, ServerResponse } from 'node:http'
import { level } from '../../../../drivers/level/index.ts'
import { type OpenAllot, openAllot } from '../../../../lib/allot.ts'
import { jobs } from '../../../../lib/records/jobs.ts'
import { rangeBelow } from '../../../../lib/records/key-codec.ts'
import type { ReadTransaction } from '../../../../lib/storage/index.ts'

type Listen = (listener: RequestListener, told: object) => void

/** Over a store that is filled already. Owners have fewer things the higher their number is. */
export const instance = async (listen: Listen, store: string, people: number): Promise<void> => {
  const driver = level(store)
  const allot = await openAllot({ driver, repositories: false })
  const { accounts } = allot.hosting
  const admin =
    (await accounts.byName('bench-admin')) ??
    (await accounts.createUser({ name: 'bench-admin', admin: true }))
  const tokens = {
    ...{ largest: await tokenOf(allot, 1), smallest: await tokenOf(allot, people) },
    admin: await tokenOf(allot, admin.id),
  }
  const tellJobs = async (res: ServerResponse) => res.end(String(await driver.read(countJobs)))
  listen((req, res) => {
    if (req.url === '/jobs') void tellJobs(res)
    else allot.handler(req, res)
  }, tokens)
}

const countJobs = async (tx: ReadTransaction): Promise<number> => {
  let pending = 0
  for await (const _ of tx.range(rangeBelow([jobs.options.name, 'r']))) pending++
  return pending
}

/** The administrator's scopes do not matter here. */
const tokenOf = async ({ hosting }: OpenAllot, account: number): Promise<string> =>
  (await hosting.tokens.create(account, `bench ${Date.now()} ${Math.random()}`, ['all'])).secret
