// The quota engine alone: no accounts, no repositories, no git. Owners are names of the host; all have 10
// MiB, and some have paid for more.
// Run it with: npx tsx examples/only-quota.ts
import { createQuota } from 'allot'

const MIB = 1024 ** 2
const quota = await createQuota({ data: './example-data/only-quota', defaultTotal: '10 MiB' })

// The same at each start: applying a plan again changes nothing.
await quota.apply({
  rules: [{ name: 'paid total', limit: 1000 * MIB, subjects: ['size:all'] }],
  groups: [{ name: 'paid', rules: ['paid total'] }],
})

// `share` is 1 for the limit itself, and `warnAt` for the warning before it.
quota.on('quota', ({ owner, rule, share, reached }) => {
  if (share === 1) console.log(`${owner} is ${reached ? 'at' : 'below'} the limit of ${rule}`)
})

const show = async (owner: string) => {
  const { over, used, limit, rule } = await quota.explain(owner)
  console.log(`${owner} uses ${used} of ${limit} bytes (${rule}): ${over ? 'over' : 'within'} quota`)
}

const file = { kind: 'artifacts', owner: 'tenant-42', name: 'video.mp4', size: 12 * MIB } as const
await quota.ledger.put({ ...file, key: 'file-1' })
await show('tenant-42')
await quota.groups.setFor('tenant-42', ['paid'])
await show('tenant-42')
await quota.ledger.delete({ kind: 'artifacts', key: 'file-1' })
await show('tenant-42')
console.log(`${(await quota.history('tenant-42')).length} day in the history`)
await quota.close()
