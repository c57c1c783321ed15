// A host that stores files itself reports them to the ledger, and checks the quota before it accepts more.
// Allot refuses nothing: the host decides what follows from being over quota.
// Run it with: npx tsx examples/reporting-usage.ts
import { createAllot } from 'allot'
import { memory } from 'allot/drivers/memory'

const allot = await createAllot({ driver: memory(), repositories: false })
const { accounts, repositories, ledger, quota } = allot

const alice = await accounts.createUser({ name: 'alice' })
await repositories.create(alice, alice, { name: 'demo' })

await quota.rules.create({ name: 'files', limit: 1000, subjects: ['size:assets:attachments:all'] })
await quota.groups.create({ name: 'free', rules: ['files'] })
await quota.groups.assign('alice', 'free')

const upload = async (key: string, size: number) => {
  if (await quota.isOver('alice', 'size:assets:attachments:issues'))
    return console.log(`${key}: refused by the host`)
  await ledger.put({
    kind: 'attachments',
    key,
    repository: 'alice/demo',
    name: key,
    size,
    on: 'issue',
    index: 1,
  })
  console.log(`${key}: ${size} bytes recorded`)
}

await upload('first.png', 600)
await upload('second.png', 600)
await upload('third.png', 600)

const { over, used, limit } = await quota.explain('alice', 'size:assets:attachments:issues')
console.log(`alice uses ${used} of ${limit} bytes: ${over ? 'over' : 'within'} quota`)
await allot.close()
