import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { level } from '../../drivers/level/index.ts'
import { memory } from '../../drivers/memory/index.ts'
import { postgres } from '../../drivers/postgres/index.ts'
import {
  type AllotOptions,
  createAllot,
  createQuota,
  importAllot,
  type Ledger,
  type LedgerEntry,
  type OwnerEntry,
  type QuotaOptions,
} from '../../lib/index.ts'

/*
 * Calls that must not compile, each beside the message that it gets at run time: the types and the checks
 * agree. `npm run check` fails for a line after `@ts-expect-error` that compiles.
 */

const allot = await createAllot({ driver: memory(), repositories: false })
const quota = await createQuota({ driver: memory() })
after(() => Promise.all([allot.close(), quota.close()]))
const alice = await allot.accounts.createUser({ name: 'alice' })
await allot.repositories.create(alice, alice, { name: 'app' })

const DATABASE = 'postgres://127.0.0.1/allot'

const named = { key: 'k', name: 'x', size: 5 }
const inApp = { ...named, repository: 'alice/app' }
const ofAlice = { ...named, owner: 'alice' }
const ofTenant = { ...named, owner: 'tenant' }

/** An entry that must not compile; the tables have a comment for each that says so. */
type Wrong = [call: () => unknown, message: RegExp]

const { ledger } = allot
const WRONG: Wrong[] = [
  // @ts-expect-error
  [() => ledger.put({ ...inApp }), /^Kind is required$/],
  // @ts-expect-error
  [() => ledger.put({ ...inApp, kind: 'files' }), /^kind: expected one of .*, received the string "files"$/],
  // @ts-expect-error
  [() => ledger.put({ kind: 'lfs', repository: 'alice/app', name: 'x', size: 5 }), /^Key is required$/],
  // @ts-expect-error
  [() => ledger.put({ ...inApp, kind: 'lfs', size: '5' }), /^size: expected a number/],
  // @ts-expect-error
  [() => ledger.put({ ...inApp, kind: 'attachments', index: 1 }), /^on: required for attachments$/],
  // @ts-expect-error
  [() => ledger.put({ ...inApp, kind: 'attachments', on: 'wiki', index: 1 }), /^on: expected one of/],
  [
    // @ts-expect-error
    () => ledger.put({ ...inApp, kind: 'attachments', on: 'issue' }),
    /^index: required for attachments in a repository$/,
  ],
  [
    // @ts-expect-error
    () => ledger.put({ ...ofAlice, kind: 'attachments', on: 'issue', index: 1 }),
    /^Repository is required for attachments; only artifacts and packages can belong to an owner alone$/,
  ],
  // @ts-expect-error
  [() => ledger.put({ ...inApp, kind: 'artifacts' }), /^run: required for artifacts in a repository$/],
  [
    // @ts-expect-error
    () => ledger.put({ ...named, kind: 'artifacts', run: 1 }),
    /^Repository or Owner is required for artifacts$/,
  ],
  // @ts-expect-error
  [() => ledger.put({ ...inApp, kind: 'packages', version: '1' }), /^type: required for packages$/],
  // @ts-expect-error
  [() => ledger.put({ ...ofAlice, kind: 'packages', type: 'npm' }), /^version: required for packages$/],
  // @ts-expect-error
  [() => ledger.put({ ...ofAlice, kind: 'lfs' }), /^Repository is required for lfs; /],
  [
    // @ts-expect-error
    () => ledger.batch([{ ...inApp, kind: 'lfs' }]),
    /^operation 1: op: expected put or delete, received undefined$/,
  ],
  // @ts-expect-error
  [() => ledger.batch([{ ...inApp, kind: 'lfs', op: 'move' }]), /^operation 1: op: expected put or delete/],
  // @ts-expect-error
  [() => ledger.batch([{ ...inApp, kind: 'artifacts', op: 'put' }]), /^operation 1: run: required/],
  // @ts-expect-error
  [() => ledger.batch([{ op: 'delete', kind: 'lfs' }]), /^operation 1: Key is required$/],
  [
    // @ts-expect-error
    () => ledger.put({ ...inApp, kind: 'lfs', within: true }),
    /^within: there is no such option; .*; options such as { within: true } follow the entries$/,
  ],
  [
    // @ts-expect-error
    () => ledger.batch([{ ...inApp, kind: 'lfs', op: 'put', within: true }]),
    /^operation 1: within: there is no such option; /,
  ],
  // @ts-expect-error
  [() => ledger.put({ ...inApp, kind: 'lfs', expiresIn: 5 }), /^expiresIn: there is no such option; /],
  // @ts-expect-error
  [() => ledger.put({ ...inApp, kind: 'lfs' }, { whithin: true }), /^whithin: there is no such option; /],
]

const WRONG_OF_QUOTA: Wrong[] = [
  // @ts-expect-error
  [() => quota.ledger.put({ ...named, kind: 'artifacts' }), /^Owner is required$/],
  // @ts-expect-error
  [() => quota.ledger.put({ ...ofTenant, kind: 'attachments' }), /^on: required for attachments$/],
  // @ts-expect-error
  [() => quota.ledger.put({ ...ofTenant, kind: 'packages', type: 'x' }), /^version: required for packages$/],
  // @ts-expect-error
  [() => quota.ledger.put({ ...inApp, kind: 'lfs' }), /^repository: there are no repositories here; /],
]

const nothing = async function* () {}
const PLACE = /^the data needs a place: give a folder, such as { data: '.\/data' }, or a driver/
const WRONG_OPTIONS: Wrong[] = [
  // @ts-expect-error
  [() => createAllot({}), PLACE],
  // @ts-expect-error
  [() => createAllot({ repositories: false }), PLACE],
  // @ts-expect-error
  [() => createAllot(), /^expected an object with options, such as { data: '.\/data' }, received undefined$/],
  // @ts-expect-error
  [() => createAllot({ driver: memory }), /^driver: expected a driver/],
  // @ts-expect-error
  [() => createAllot({ data: './data', folder: './data' }), /^folder: there is no such option/],
  // @ts-expect-error
  [() => createQuota({ warnAt: 0.5 }), PLACE],
  // @ts-expect-error
  [() => importAllot({}, nothing()), PLACE],
]

const { accounts, organizations, repositories, tokens } = allot
const { rules, groups } = allot.quota
const small = { name: 'small', limit: 1 }
const whole = { ...small, subjects: ['size:all'] as const }
/** Wrong calls in JavaScript: a forgotten argument, or one of another type. */
const WRONG_ARGUMENTS: Wrong[] = [
  // @ts-expect-error
  [() => rules.create({ ...whole, limits: 2 }), /^limits: there is no such option; /],
  // @ts-expect-error
  [() => rules.edit('small', { name: 'other' }), /^name: there is no such option; /],
  // @ts-expect-error
  [() => groups.create({ name: 'free', rule: ['small'] }), /^rule: there is no such option; /],
  [
    // @ts-expect-error
    () => allot.quota.apply({ rules: [whole], dryRun: true }),
    /^dryRun: there is no such option; .*; options follow as another argument$/,
  ],
  // @ts-expect-error
  [() => allot.quota.apply({ rules: [whole] }, { dryrun: true }), /^dryrun: there is no such option; /],
  [
    // @ts-expect-error
    () => accounts.createUser('bob'),
    /^user: expected an object, such as { name: 'alice' }, received the string "bob"$/,
  ],
  // @ts-expect-error
  [() => accounts.createUser({ username: 'bob' }), /^name: expected a string, received undefined$/],
  [
    // @ts-expect-error
    () => organizations.create(alice.id),
    /^organization: expected an object, such as .*, received undefined$/,
  ],
  [
    // @ts-expect-error
    () => repositories.create(alice, { name: 'app' }),
    /^repository: expected an object, such as { name: 'app' }, /,
  ],
  [
    // @ts-expect-error
    () => repositories.create(alice, alice, { name: 'app', privat: true }),
    /^privat: there is no such option; expected one of name, description, private, /,
  ],
  [
    // @ts-expect-error
    () => repositories.create('alice', alice, { name: 'app' }),
    /^owner: expected an account, received the string/,
  ],
  // @ts-expect-error
  [() => tokens.create(alice, 'ci', ['all']), /^account: expected the id of an account, received an object$/],
  // @ts-expect-error
  [() => tokens.create(alice.id, 'ci'), /^scopes: expected a list, such as \['all'\], received undefined$/],
  [
    // @ts-expect-error
    () => rules.create('small'),
    /^rule: expected an object with name, limit and subjects, received the string "small"$/,
  ],
  [
    // @ts-expect-error
    () => rules.create({ ...small }),
    /^subjects: expected a list, such as \['size:all'\], received undefined$/,
  ],
  [
    // @ts-expect-error
    () => rules.create({ ...small, limit: true, subjects: [] }),
    /^limit: expected bytes, as a whole number or as in "2 GiB", received the boolean true$/,
  ],
  [
    // @ts-expect-error
    () => rules.create({ ...small, subjects: ['size:al'] }),
    /^subjects\[0\]: unknown subject "size:al"; expected/,
  ],
  [
    // @ts-expect-error
    () => groups.create({ name: 'free', rules: 'small' }),
    /^rules: expected a list of rules, received the string/,
  ],
  // @ts-expect-error
  [() => groups.assign(undefined, 'free'), /^owner: expected a string, received undefined$/],
  // @ts-expect-error
  [() => allot.quota.isOver(), /^owner: expected a string, received undefined$/],
  // @ts-expect-error
  [() => allot.quota.isOver('alice'), /^subject: unknown subject undefined; expected one of: size:all, /],
  // @ts-expect-error
  [() => allot.quota.apply({ rules: [{ name: 'small' }] }), /^Limit is required$/],
  [
    // @ts-expect-error
    () => allot.listener({ page: '/storage' }),
    /^page: there is no such option; expected one of prefix, pages$/,
  ],
  // @ts-expect-error
  [() => allot.fetch('http://localhost/'), /^request: expected a Request, such as .*, received the string/],
  [
    // @ts-expect-error
    () => allot.on('pushed', () => undefined),
    /^there is no event "pushed"; the events are: "push", "create", /,
  ],
  // @ts-expect-error
  [() => allot.on('push'), /^listener: expected a function, received undefined$/],
  // @ts-expect-error
  [() => level(), /^location: expected a folder, such as '.\/data\/store', received undefined$/],
  [
    // @ts-expect-error
    () => level('./data', { repair: true }),
    /^repair: there is no such option; expected one of openFiles, blockCache$/,
  ],
  [
    // @ts-expect-error
    () => postgres(DATABASE, { connection: 3 }),
    /^connection: there is no such option; expected one of connections, connectTimeout, /,
  ],
  [
    // @ts-expect-error
    () => postgres(DATABASE, { connections: '3' }),
    /^connections: expected a whole number from 1, received the string/,
  ],
]

const codeOf = (call: () => unknown): string => String(call).replace(/^\(\) => /, '')

describe('A call that does not compile', () => {
  for (const [call, message] of [...WRONG, ...WRONG_OF_QUOTA, ...WRONG_OPTIONS, ...WRONG_ARGUMENTS])
    it(`is refused at run time, too: ${codeOf(call)}`, async () => {
      await assert.rejects(async () => call(), { name: 'AllotError', code: 'invalid', message })
      assert.equal((await allot.quota.explain('alice')).used, 0)
      assert.deepEqual((await quota.owners.list({ offset: 0, limit: 1 })).items, [])
    })
})

/** Checked by the compiler before the spec runs. */
const entries: LedgerEntry[] = [
  { ...inApp, kind: 'attachments', on: 'release', index: 1 },
  { ...inApp, kind: 'artifacts', run: 7 },
  { ...ofAlice, kind: 'artifacts' },
  { ...inApp, kind: 'packages', type: 'npm', version: '1' },
  { ...ofAlice, kind: 'packages', type: 'npm', version: '1' },
  { ...inApp, kind: 'lfs' },
]
const owned: OwnerEntry[] = [
  { ...ofTenant, kind: 'attachments', on: 'issue' },
  { ...ofTenant, kind: 'attachments', on: 'issue', index: 3 },
  { ...ofTenant, kind: 'artifacts' },
  { ...ofTenant, kind: 'artifacts', run: 7 },
  { ...ofTenant, kind: 'packages', type: 'npm', version: '1' },
  { ...ofTenant, kind: 'lfs' },
]

/**
 * Puts an entry alone and in a batch, reads it and deletes it, as helper functions of a host do with any
 * entry.
 */
const roundTrip = async <E extends LedgerEntry | OwnerEntry>(ledger: Ledger<E>, entry: E) => {
  assert.deepEqual((await ledger.put(entry)).entry, entry)
  assert.equal(await ledger.batch([{ ...entry, op: 'put' }]), 1)
  const stored = await ledger.get(entry)
  assert.deepEqual(stored, entry)
  assert.equal((await ledger.put(stored!)).replaced, true)
  assert.equal(await ledger.batch([{ op: 'delete', kind: entry.kind, key: entry.key }]), 1)
}

describe('An entry that compiles', () => {
  for (const entry of entries)
    it(`is recorded and returned by an Allot: ${JSON.stringify(entry)}`, () => roundTrip(ledger, entry))

  for (const entry of owned)
    it(`is recorded and returned by a quota alone: ${JSON.stringify(entry)}`, () =>
      roundTrip(quota.ledger, entry))
})

describe('Options that compile', () => {
  const { DATA } = process.env
  const OPTIONS: AllotOptions[] = [
    { driver: memory(), repositories: false },
    { driver: memory(), data: DATA, repositories: false },
    { driver: memory(), repositories: false, quota: { defaultTotal: '2 GiB' }, authenticate: () => null },
  ]
  for (const options of OPTIONS)
    it(`open an Allot: ${Object.keys(options).join(', ')}`, async () => {
      const opened = await createAllot({ ...options, pageSize: 10 })
      await opened.close()
    })

  it('open a quota alone, and are those of a folder too', async () => {
    const options: QuotaOptions = { driver: memory(), defaultTotal: 1000 }
    await (await createQuota({ ...options, warnAt: 1 })).close()
    // Not opened here: spec/data-folder.spec.ts opens folders.
    const folder = { data: './data' } satisfies AllotOptions & QuotaOptions
    assert.ok(folder)
  })
})
