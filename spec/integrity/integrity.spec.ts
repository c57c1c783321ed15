import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { AllotError } from '../../lib/index.ts'
import { referenceChecks, verifyRecords } from '../../lib/integrity/index.ts'
import { entriesBySize } from '../../lib/quota/ledger.ts'
import { decodeKey, decodeKeyIfValid, encodeKey } from '../../lib/records/key-codec.ts'
import { decodeValue, encodeValue, wordsOf } from '../../lib/records/layout.ts'
import { belongings } from '../../lib/records/schema/belongings.ts'
import {
  type accounts,
  collections,
  diskEntries,
  hooks,
  ledgerEntries,
  repositories,
  repositoryUsages,
  sessions,
} from '../../lib/records/schema/index.ts'
import type { ReadTransaction, StorageDriver } from '../../lib/storage/index.ts'
import { repair, sentence, verify } from '../../lib/verify.ts'
import { nameOwner, populate } from '../exports/instance.ts'
import { aGround, fill } from '../files/ground.ts'
import { openWith, type Raw, rawOf } from '../records/raw.ts'
import { times } from '../support/long.ts'

/** The entries of a store that has records of every kind. */
let whole: Raw
before(async () => {
  const driver = memory()
  const ground = aGround()
  const allot = await openAllot({ driver, repositories: false, files: ground.files, webhooks: true })
  await populate(allot)
  await fill(allot, 'filer')
  const { repositories } = allot.hosting
  const renamed = (await repositories.find({ id: 1, admin: true }, 'ben', 'bare'))!
  await repositories.edit(renamed.id, { name: 'bared' })
  const copied = { kind: 'account', scope: '', name: 'ann', copy: { id: 1 } } as const
  await allot.hosting.migrationLog('https://x.test').save([copied])
  await attachAsGuest(allot)
  await nameOwner(driver)
  ground.clear()
  whole = await rawOf(driver)
  await allot.close()
})

const attachAsGuest = async ({ hosting }: Awaited<ReturnType<typeof openAllot>>) => {
  const guest = await hosting.accounts.createUser({ name: 'guest' })
  const hall = { owner: 'ann', name: 'hall' }
  const issue = (await hosting.issues.create(guest, hall, { title: 'from outside' }))!
  const content = Readable.from([Buffer.from('attached')], { objectMode: false })
  const file = { name: 'a.txt', content, maxSize: 100, guestLimit: 100 }
  await hosting.attachments.add(guest, hall, { issue: issue.issue.number }, file)
}

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

const copyOf = async (raw: Raw): Promise<StorageDriver> => {
  const driver = memory()
  await openWith(driver, raw)
  return driver
}

type Kind = 'record' | 'usage' | 'index' | 'counter' | 'sequence' | 'metadata' | 'stranger'
const USAGE = ['ownerUsage', 'repositoryUsage']

const kindOf = (hex: string): Kind => {
  const [first, second] = (decodeKeyIfValid(bytes(hex)) ?? []) as string[]
  if (first === undefined) return 'stranger'
  if (first === 'metadata' || first === 'sequence') return first
  if (first.includes(':')) return 'counter'
  if (second !== 'r') return 'index'
  return USAGE.includes(first) ? 'usage' : 'record'
}

/** Any next number is right that is above every number in use. */
const withoutSequences = (raw: Raw) => raw.filter(([key]) => kindOf(key) !== 'sequence')

describe('A sound store', () => {
  it('has no faults, and each of its records, index entries and counters is counted', async () => {
    const driver = await copyOf(whole)
    const found = await verify(driver)
    assert.deepEqual([found.faults, found.messages], [0, []])
    const count = (...kinds: Kind[]) => whole.filter(([key]) => kinds.includes(kindOf(key))).length
    assert.equal(found.records, count('record', 'usage'))
    assert.equal(found.indexEntries, count('index'))
    assert.equal(found.counters, count('counter'))
    assert.equal(
      sentence(found),
      `${found.records} records, ${found.indexEntries} index entries, ${found.counters} counters: all agree`,
    )
    const names = new Set(whole.map(([key]) => String(decodeKey(bytes(key))[0])))
    // These exist only while something is under way; spec/removal has the jobs.
    const temporary = ['diskEntry', 'job', 'lfsCopy', 'hookLease']
    for (const { options } of collections)
      assert.ok(temporary.includes(options.name) || names.has(options.name), `no ${options.name} is in it`)
  })

  it('is read in the order of its keys: no index entry is looked up', async () => {
    const driver = await copyOf(whole)
    const wanted: Uint8Array[] = []
    await driver.read((tx) => {
      const watched: ReadTransaction = {
        ...tx,
        get: (key) => tx.get(key).finally(() => wanted.push(key)),
        getMany: (keys) => tx.getMany(keys).finally(() => wanted.push(...keys)),
      }
      return verifyRecords(watched, referenceChecks, ({ message }) => assert.fail(message))
    })
    assert.ok(wanted.length > 0)
    const looked = wanted.map((key) => Buffer.from(key).toString('hex'))
    assert.deepEqual(
      looked.filter((hex) => kindOf(hex) === 'index'),
      [],
    )
  })

  it('is not changed by a repair', async () => {
    const driver = await copyOf(whole)
    const { repaired, after } = await repair(driver)
    assert.deepEqual([repaired, after.faults], [0, 0])
    assert.deepEqual(await rawOf(driver), whole)
  })

  it('may be empty', async () => {
    const driver = memory()
    await driver.open()
    assert.equal(sentence(await verify(driver)), '0 records, 0 index entries, 0 counters: all agree')
  })
})

describe('What records belong to', () => {
  /** The collections of parents that have another name. */
  const PLACES: Partial<Record<string, string>> = { organization: 'account' }

  for (const { collection, to, by = '', idOf } of belongings)
    it(`is missed when it is gone: ${to} of ${collection.options.name} ${by}`, async () => {
      const driver = await copyOf(whole)
      await addChildren(driver)
      const ids: number[] = []
      await driver.read(async (tx) => {
        for await (const record of collection.all(tx)) ids.push(idOf(record) ?? 0)
      })
      const id = ids.find((one) => one > 0)
      assert.ok(id !== undefined, 'add a record that belongs to one to `populate`')
      for (const place of to === 'owner' ? ['account', 'quotaOwner'] : [PLACES[to] ?? to])
        await driver.write(async (tx) => tx.delete(encodeKey([place, 'r', id])))
      const label = `the ${wordsOf(collection.options.name)} .+ belongs to ${wordsOf(to)} ${id}`
      assert.ok(
        (await messagesOf(driver)).some((one) => new RegExp(`^${label}, which does not exist$`).test(one)),
      )
    })
})

/** A fork, a webhook of an account and another entry of each repository, besides those in the store. */
const addChildren = (driver: StorageDriver) =>
  driver.write(async (tx) => {
    await repositories.save(tx, { ...(await repositories.get(tx, [2]))!, parent: 1 })
    for await (const hook of hooks.all(tx))
      await hooks.save(tx, { ...hook, id: 77, scope: 'account', target: 2 })
    for await (const entry of ledgerEntries.all(tx))
      if (entry.repository !== null) await ledgerEntries.save(tx, { ...entry, key: `${entry.key} further` })
  })

const messagesOf = async (driver: StorageDriver): Promise<string[]> => {
  const messages: string[] = []
  const onFault = ({ message }: { message: string }) => void messages.push(message)
  await driver.read((tx) => verifyRecords(tx, referenceChecks, onFault))
  return messages
}

describe('A fault', () => {
  it('says that the usage of a repository does not name its largest entry', async () => {
    const driver = await copyOf(whole)
    await driver.write(async (tx) => {
      for await (const entry of ledgerEntries.all(tx))
        if (entry.kind === 'attachments') await ledgerEntries.save(tx, { ...entry, size: entry.size + 1 })
    })
    const { messages } = await verify(driver)
    assert.match(messages.join('\n'), /largest entries of repository \d+ attachments/)
  })

  it('says that it names another entry of the same size, and ends with a repair that lists all', async () => {
    const driver = await copyOf(whole)
    await driver.write(async (tx) => {
      for await (const usage of repositoryUsages.all(tx)) {
        const { first = [], rest = null } = usage.largest.artifacts ?? {}
        const others = first.map((place) => ({ ...place, key: `${place.key} other` }))
        const largest = { ...usage.largest, artifacts: { first: others, rest } }
        await repositoryUsages.save(tx, { ...usage, largest })
      }
    })
    const { messages } = await verify(driver)
    assert.match(messages.join('\n'), /largest entries of repository \d+ artifacts/)
    const { after } = await repair(driver)
    assert.deepEqual([after.faults, after.messages], [0, []])
    await driver.read(async (tx) => {
      for await (const { id, owner } of repositoryUsages.all(tx)) {
        const listed = new Set<string>()
        for await (const entry of entriesBySize(tx, owner, ['artifacts'], 1000))
          listed.add(String(ledgerEntries.idOf(entry)[1]))
        for await (const { key, kind, repository } of ledgerEntries.all(tx))
          if (kind === 'artifacts' && repository === id) assert.ok(listed.has(key), key)
      }
    })
  })
})

/** Ways to damage one key. */
const rubbish = fc.uint8Array({ minLength: 0, maxLength: 12 })
const damage = fc.oneof(
  fc.record({ how: fc.constant('delete' as const) }),
  fc.record({ how: fc.constant('change' as const), to: rubbish }),
  fc.record({ how: fc.constant('exchange' as const), with: fc.nat() }),
  fc.record({ how: fc.constant('add' as const), after: rubbish, to: rubbish }),
)
type Damage = typeof damage extends fc.Arbitrary<infer D> ? D : never

/** The damaged store and the damaged keys; undefined when the damage changes nothing. */
const damaged = (at: number, one: Damage): { raw: Raw; keys: string[] } | undefined => {
  const [key, value] = whole[at % whole.length]!
  const others = whole.filter(([other]) => other !== key)
  switch (one.how) {
    case 'delete':
      return { raw: others, keys: [key] }
    case 'change': {
      const to = Buffer.from(one.to).toString('hex')
      return to === value ? undefined : { raw: [...others, [key, to]], keys: [key] }
    }
    case 'exchange': {
      const [other, its] = whole[one.with % whole.length]!
      if (its === value) return undefined
      const rest = others.filter(([another]) => another !== other)
      return { raw: [...rest, [key, its], [other, value]], keys: [key, other] }
    }
    case 'add': {
      const added = key + Buffer.from(one.after).toString('hex')
      if (whole.some(([other]) => other === added)) return undefined
      return { raw: [...whole, [added, Buffer.from(one.to).toString('hex')]], keys: [added] }
    }
  }
}

/** Whether the value that is stored now is as right as the one before. */
const isHarmless = (key: string, raw: Raw): boolean => {
  const is = raw.find(([other]) => other === key)?.[1]
  const was = whole.find(([other]) => other === key)?.[1]
  if (kindOf(key) === 'sequence') {
    const [next, first] = [is, was].map((hex) => (hex === undefined ? 0 : numberIn(hex)))
    return next !== undefined && next >= first!
  }
  return is === undefined && was !== undefined && isIdle(key, was)
}

/** An owner without usage need not have a usage record. */
const isIdle = (key: string, value: string): boolean => {
  if (decodeKeyIfValid(bytes(key))?.[0] !== 'ownerUsage') return false
  return Object.entries(decodeValue<object>(bytes(value))).every(
    ([name, size]) => name === 'owner' || name === 'day' || size === 0,
  )
}

const isRepositoryUsage = (key: string): boolean =>
  kindOf(key) === 'usage' && decodeKey(bytes(key))[0] === 'repositoryUsage'

/**
 * A repaired usage record of a repository names none of its largest entries, which later writes do.
 * @param usages keys of such records
 */
const withoutLargest = (raw: Raw, usages: readonly string[]): [key: string, value: unknown][] =>
  raw
    .filter(([key, value]) => kindOf(key) !== 'index' || !usages.includes(value))
    .map(([key, value]) => {
      if (!usages.includes(key)) return [key, value]
      const { largest: _, ...own } = decodeValue<Record<string, unknown>>(bytes(value))
      return [key, own]
    })

const numberIn = (hex: string): number | undefined => {
  try {
    const number = JSON.parse(bytes(hex).toString())
    return Number.isSafeInteger(number) && number > 0 ? number : undefined
  } catch {
    return undefined
  }
}

const everyDamage = (
  property: (raw: Raw, keys: string[], how: Damage['how']) => Promise<void>,
  numRuns: number,
) =>
  fc.assert(
    fc.asyncProperty(fc.nat(), damage, async (at, one) => {
      const made = damaged(at, one)
      if (made !== undefined) await property(made.raw, made.keys, one.how)
    }),
    { numRuns, includeErrorInReport: true },
  )

describe('A store in which one thing was deleted, changed, exchanged or added', () => {
  it('is reported with each fault, of which at most 100 have messages', async () => {
    await everyDamage(
      async (raw, keys) => {
        const driver = await copyOf(raw)
        if (keys.every((key) => isHarmless(key, raw))) return
        if (keys.some((key) => kindOf(key) === 'metadata')) return
        const found = await verify(driver)
        assert.ok(found.faults > 0, `${keys.map((key) => bytes(key).toString('latin1'))} went unnoticed`)
        assert.equal(found.messages.length, Math.min(100, found.faults))
      },
      times(6, 120),
    )
  })

  it('is as before after a repair, if the damaged keys follow from records', async () => {
    await everyDamage(
      async (raw, keys, how) => {
        const derived: Kind[] = ['index', 'counter', 'sequence', 'usage']
        if (how === 'add' || !keys.every((key) => derived.includes(kindOf(key)))) return
        const driver = await copyOf(raw)
        const { repaired, after } = await repair(driver)
        assert.deepEqual(after.messages, [])
        assert.ok(repaired > 0 || keys.every((key) => isHarmless(key, raw)))
        const idle = whole.filter(([key, value]) => isIdle(key, value)).map(([key]) => key)
        const harmless = keys.filter((key) => isHarmless(key, raw) || idle.includes(key))
        const rest = (all: Raw) => {
          const kept = withoutSequences(all).filter(([key]) => !harmless.includes(key))
          return withoutLargest(kept, keys.filter(isRepositoryUsage))
        }
        assert.deepEqual(rest(await rawOf(driver)), rest(whole))
      },
      times(5, 80),
    )
  })

  it('keeps every record through a repair, except for members that follow from other records', async () => {
    const kept = (raw: Raw) =>
      raw
        // A record of this collection follows from the payloads as a whole.
        .filter(([key]) => kindOf(key) === 'record' && decodeKey(bytes(key))[0] !== 'hookStorage')
        .map(([key, value]) => {
          try {
            const {
              stars: _,
              watchers,
              forks,
              lfs,
              files,
              ...own
            } = decodeValue<Record<string, unknown>>(bytes(value))
            // It follows from the files of the version.
            const [collection] = decodeKey(bytes(key))
            if (collection === 'packageVersion') delete own.size
            return [key, own]
          } catch {
            return [key, value]
          }
        })
    await everyDamage(
      async (raw, keys) => {
        if (keys.some((key) => kindOf(key) === 'metadata')) return
        const driver = await copyOf(raw)
        const before = await rawOf(driver)
        await repair(driver)
        assert.deepEqual(kept(await rawOf(driver)), kept(before))
        assert.equal((await repair(driver)).repaired, 0, 'a second repair finds nothing')
      },
      times(4, 50),
    )
  })
})

describe('verify names', () => {
  const CASES: [
    what: string,
    harm: (driver: StorageDriver) => Promise<unknown>,
    named: RegExp,
    isRepaired: boolean,
  ][] = [
    [
      'a record that is not JSON',
      put(['account', 'r', 2], Buffer.from('{"id":2')),
      /^the record \["account","r",2\] is not JSON$/,
      false,
    ],
    [
      'a record whose member is wrong',
      edit(['account', 'r', 2], { admin: 'yes' }),
      /^the record \["account","r",2\] is not a valid account: admin: .*boolean/,
      false,
    ],
    [
      'a record under the wrong key',
      edit(['account', 'r', 2], { id: 77 }),
      /^the record \["account","r",2\] is stored under the wrong key: its id is \[77\]$/,
      false,
    ],
    [
      'a unique entry that is missing',
      remove(['account', 'u', 'name', 'ann']),
      /^the index entry \["account","u","name","ann"\] of the record \["account","r",2\] is missing$/,
      true,
    ],
    [
      'an entry that leads to another record',
      put(['account', 'u', 'name', 'ann'], encodeKey(['account', 'r', 1])),
      /^the index entry \["account","u","name","ann"\] must lead to the record \["account","r",2\], but leads elsewhere$/,
      true,
    ],
    [
      'an entry that follows from no record',
      put(['star', 'o', 'repository', 1, 99, 1], encodeKey(['star', 'r', 99, 1])),
      /^the index entry \["star","o","repository",1,99,1\] follows from no record$/,
      true,
    ],
    [
      'an entry under another key than it must have',
      async (driver) => {
        await remove(['account', 'u', 'name', 'ann'])(driver)
        await put(['account', 'u', 'name', 'anna'], encodeKey(['account', 'r', 2]))(driver)
      },
      /^the index entry \["account","u","name","anna"\] follows from no record$/,
      true,
    ],
    [
      'a counter that is off by one',
      put(['account:kind', 'user'], encodeValue(7)),
      /^the counter \["account:kind","user"\] is 7, but the records give 6$/,
      true,
    ],
    [
      'usage that is off by 2^40 bytes',
      edit(['ownerUsage', 'r', 5], { releases: 2 ** 41 }),
      /^usage of owner 5 releases is 2199023255552, but the records give 1099511627776$/,
      true,
    ],
    [
      'a day of the history that is missing',
      edit(['ownerUsage', 'r', 2], { earlierDays: 2 }),
      /^usage of owner 2 earlierDays is 2, but the records give 1$/,
      true,
    ],
    [
      'a day of the history that is after the last change',
      edit(['ownerUsage', 'r', 2], { day: 1 }),
      /^the history of owner 2 has day \d+, but its usage last changed on day 1$/,
      false,
    ],
    [
      'a session of an account that does not exist',
      async (driver) => {
        const [session] = await driver.read((tx) => sessions.list(tx, 'account', { prefix: [2] }))
        await edit(['session', 'r', session!.hash], { account: 99 })(driver)
      },
      /^the session \w+ belongs to account 99, which does not exist$/,
      false,
    ],
    [
      'a repository that counts for another owner',
      edit(['repositoryUsage', 'r', 1], { owner: 1 }),
      /^usage record of repository 1 owner is 1, but the records give 2$/,
      true,
    ],
    [
      'a count of stars that is wrong',
      save(repositories, [1], { stars: 7 }),
      /^number of stars of repository 1 is 7, but the records give 3$/,
      true,
    ],
    [
      'a token of an account that does not exist',
      edit(['token', 'r', 1], { account: 99 }),
      /^the token 1 belongs to account 99, which does not exist$/,
      false,
    ],
    [
      'a sequence that would give a number twice',
      put(['sequence', 'account'], encodeValue(3)),
      /^the sequence \["sequence","account"\] continues at 3, but 9 is already in use$/,
      true,
    ],
    [
      'a repository that the journal of the disk has an entry of, too',
      (driver) => driver.write((tx) => diskEntries.save(tx, { what: 'folder', repository: 1, since: 0 })),
      /^the folder 1 has a record, and is in the journal of the disk too$/,
      true,
    ],
    [
      'a key that this version does not use',
      put(['something', 'else'], Buffer.from('?')),
      /^the key \["something","else"\] is not one of this version of Allot$/,
      false,
    ],
    [
      'a name that two accounts have',
      edit(['account', 'r', 3], { name: 'ANN' }),
      /^the index entry \["account","u","name","ann"\] is claimed by several records: \["account","r",2\], \["account","r",3\]$/,
      false,
    ],
  ]
  for (const [what, harm, named, isRepaired] of CASES)
    it(`${what}${isRepaired ? ', and repairs it' : ', and repair leaves it'}`, async () => {
      const driver = await copyOf(whole)
      await harm(driver)
      const found = await verify(driver)
      assert.ok(
        found.messages.some((one) => named.test(one)),
        found.messages.join('\n'),
      )
      const { after } = await repair(driver)
      assert.equal(
        after.messages.some((one) => named.test(one)),
        !isRepaired,
      )
      if (isRepaired) assert.deepEqual(after.messages, [])
    })

  it('a store with another layout, and checks nothing else', async () => {
    const driver = await copyOf(whole)
    await put(['metadata', 'layout'], encodeValue(0))(driver)
    await assert.rejects(
      verify(driver),
      (error) =>
        error instanceof AllotError && /store has layout 0, but .* reads layouts 1/.test(error.message),
    )
  })

  it('the first hundred of many faults, and counts all of them', async () => {
    const driver = await copyOf(whole)
    await driver.write(async (tx) => {
      for (let at = 0; at < 5000; at++)
        tx.put(
          encodeKey(['ledger', 'o', 'repo', 1, 'lfs', 0, 'name', 'lfs', `k${at}`]),
          encodeKey(['ledger', 'r', 'lfs', `k${at}`]),
        )
    })
    const found = await verify(driver)
    assert.deepEqual([found.faults, found.messages.length], [5000, 100])
    const { repaired, after } = await repair(driver)
    assert.deepEqual([repaired, after.faults], [5000, 0])
    assert.deepEqual(await rawOf(driver), whole)
  })
})

/** So that the rows above stay short: each gives what is to be done with a driver. */
function put(key: (string | number)[], value: Uint8Array) {
  return (driver: StorageDriver) => driver.write(async (tx) => tx.put(encodeKey(key), value))
}
function remove(key: (string | number)[]) {
  return (driver: StorageDriver) => driver.write(async (tx) => tx.delete(encodeKey(key)))
}
function edit(key: (string | number)[], change: object) {
  return (driver: StorageDriver) =>
    driver.write(async (tx) => {
      const before = decodeValue<object>((await tx.get(encodeKey(key)))!)
      tx.put(encodeKey(key), encodeValue({ ...before, ...change }))
    })
}
/** Through the collection, so that its own indexes and counters agree with what is wrong. */
function save<R>(
  collection: { get: typeof accounts.get; save: typeof accounts.save } | R,
  id: number[],
  change: object,
) {
  const of = collection as unknown as typeof accounts
  return (driver: StorageDriver) =>
    driver.write(async (tx) => of.save(tx, { ...(await of.get(tx, id))!, ...change }))
}
