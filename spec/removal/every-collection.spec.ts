import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import { createQuota } from '../../lib/index.ts'

import { collections, FileArea } from '../../lib/records/schema/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { nameOwner, populate } from '../exports/instance.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { waitFor } from '../support/wait-for.ts'

/** Collections whose records belong to no account. */
const STAY = ['rule', 'group', 'migrationLog', 'quotaOwner', 'audit']

/** Collections that `createQuota` fills for an owner that the host names. */
const OF_HOST_OWNERS = ['quotaOwner', 'ownerUsage', 'dailyUsage', 'assignment', 'ledger']

/** Collections whose records last as long as a request or a job. */
const TRANSIENT = ['diskEntry', 'lfsCopy', 'job', 'hookLease']

const folder = temporaryDirectory()

const contentOf = (text: string) => Readable.from([Buffer.from(text)], { objectMode: false })

/** An instance with a record of every collection, and a file in every area. */
const filled = async (driver: StorageDriver): Promise<OpenAllot> => {
  const directories = { repositories: { directory: `${folder}/r` }, files: { directory: `${folder}/f` } }
  const allot = await openAllot({ driver, webhooks: true, ...directories })
  await populate(allot)
  const { accounts, repositories, issues, attachments, lfs, packages, migrationLog } = allot.hosting
  const ann = (await accounts.byName('ann'))!
  const demo = (await repositories.find(ann, 'ann', 'hall'))!
  const oid = createHash('sha256').update('object').digest('hex')
  await lfs.add(
    { id: ann.id, admin: false, username: 'ann' },
    demo.id,
    { oid, size: 6 },
    contentOf('object'),
    undefined,
  )
  const kit = { owner: 'ann', type: 'generic', name: 'kit', version: '1' }
  await packages.add(ann, kit, 'kit.tar', contentOf('package'))
  const guest = await accounts.createUser({ name: 'guest' })
  const open = await repositories.create(ann, ann, { name: 'open' })
  const { issue } = (await issues.create(guest, { owner: 'ann', name: open.name }, { title: 'mine' }))!
  await attachments.add(
    guest,
    { owner: 'ann', name: open.name },
    { issue: issue.number },
    {
      name: 'a.txt',
      content: contentOf('attached'),
      maxSize: 100,
      guestLimit: 100,
    },
  )
  await migrationLog('https://x.test').save([{ kind: 'account', scope: '', name: 'ann', copy: { id: 1 } }])
  await nameOwner(driver)
  return allot
}

const recordsIn = (driver: StorageDriver): Promise<Map<string, unknown[]>> =>
  driver.read(async (tx) => {
    const found = new Map<string, unknown[]>()
    for (const collection of collections) {
      const records: unknown[] = []
      for await (const record of collection.all(tx)) records.push(record)
      found.set(collection.options.name, records)
    }
    return found
  })

const namesOf = (records: Map<string, unknown[]>): string[] =>
  [...records].flatMap(([name, { length }]) => (length > 0 ? [name] : []))

describe('The removal of all accounts', () => {
  it('leaves no record that belonged to one, in any collection, and no file', async () => {
    const driver = memory()
    const allot = await filled(driver)
    const before = await recordsIn(driver)
    const every = [...before.keys()].filter((name) => !TRANSIENT.includes(name))
    const missing = every.filter((name) => !namesOf(before).includes(name))
    assert.deepEqual(missing, [], 'add a record of these collections to this spec')
    const areas = before.get('file')!.map((file) => (file as { area: string }).area)
    assert.deepEqual([...new Set(areas)].sort(), [...FileArea.options].sort())

    for (const account of before.get('account')!)
      await allot.hosting.accounts.remove((account as { id: number }).id, { purge: true })
    await waitFor(async () => (await recordsIn(driver)).get('job')!.length === 0)
    await allot.hosting.disk.idle()
    const left = namesOf(await recordsIn(driver)).filter((name) => !STAY.includes(name))
    assert.deepEqual(left, [], 'say in `belongsTo` what removes them, or add it to lib/content/removal.ts')
    await allot.close()
  })
})

describe('The removal of an owner that a host named', () => {
  it('leaves no record that belonged to it, in any collection', async (t) => {
    const driver = memory()
    const quota = await createQuota({ driver })
    try {
      await quota.rules.create({ name: 'small', limit: 1000, subjects: ['size:all'] })
      await quota.groups.create({ name: 'free', rules: ['small'] })
      await quota.groups.assign('tenant', 'free')
      const put = (key: string) =>
        quota.ledger.put({ kind: 'artifacts', key, owner: 'tenant', name: 'a.pdf', size: 1 })
      await put('today')
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 86_400_000 })
      await put('tomorrow')
      const filledNames = namesOf(await recordsIn(driver))
      const own = filledNames.filter((name) => !['rule', 'group'].includes(name))
      assert.deepEqual(own.sort(), [...OF_HOST_OWNERS].sort(), 'list what createQuota fills in this spec')

      await quota.owners.remove('tenant')
      await waitFor(async () => (await recordsIn(driver)).get('job')!.length === 0)
      assert.deepEqual(
        namesOf(await recordsIn(driver)).sort(),
        ['group', 'rule'],
        'add what removes them to QuotaEngine.removeOwner (lib/quota/index.ts)',
      )
    } finally {
      await quota.close()
    }
  })
})
