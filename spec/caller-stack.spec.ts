import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { memory } from '../drivers/memory/index.ts'
import { createAllot, createQuota } from '../lib/index.ts'

const allot = await createAllot({ driver: memory(), repositories: false })
const quota = await createQuota({ driver: memory() })
after(() => Promise.all([allot.close(), quota.close()]))
const ann = await allot.accounts.createUser({ name: 'ann' })
await allot.repositories.create(ann, ann, { name: 'app' })

const CALLS: Record<string, () => Promise<unknown>> = {
  'a name that is taken': () => allot.accounts.createUser({ name: 'ann' }),
  'a repository that exists': () => allot.repositories.create(ann, ann, { name: 'app' }),
  'an unknown scope': () => allot.tokens.create(ann.id, 'ci', ['nope']),
  'an entry of an unknown owner': () =>
    allot.ledger.put({ kind: 'artifacts', key: 'k', owner: 'nobody', name: 'n', size: 1 } as never),
  'an unknown subject': () => allot.quota.isOver('ann', 'nope' as never),
  'a size below 0': () => quota.ledger.put({ kind: 'artifacts', key: 'k', owner: 'a', name: 'n', size: -1 }),
}

describe("The stack of an error of a service has the line of the host's call", () => {
  for (const [what, call] of Object.entries(CALLS))
    it(what, async () => {
      const hostFunction = async () => await call()
      const { stack, code } = await hostFunction().then(
        () => assert.fail(),
        (error) => error,
      )
      assert.equal(typeof code, 'string')
      assert.match(stack, /caller-stack\.spec\.ts:\d+:\d+/)
      assert.match(stack, /hostFunction/)
    })
})
