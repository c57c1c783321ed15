import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import { importAllot, type Sum } from '../../lib/index.ts'
import { explain } from '../../lib/quota/evaluate.ts'
import type { Usage } from '../../lib/quota/subjects.ts'
import { exported, inChunks } from '../exports/instance.ts'
import { aCheckout, attempt, git, urlFor } from '../git/client.ts'
import { startGit } from '../git/served.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { times } from '../support/long.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { startPages } from '../web/browser.ts'

const LARGEST = Number.MAX_SAFE_INTEGER
const sizes = fc.oneof(fc.constantFrom(LARGEST, LARGEST - 1, 0, 1), fc.nat({ max: LARGEST }))
const quiet = { error: () => undefined, info: () => undefined }

const KINDS = ['lfs', 'artifacts', 'packages', 'attachments'] as const
const OWNERS = ['ann', 'ben'] as const

interface Modeled {
  id: number
  owner: number
  private: boolean
  git: bigint
}

type Step =
  | { does: 'put'; kind: number; key: number; repository: number; size: number }
  | { does: 'delete'; kind: number; key: number }
  | { does: 'resize'; repository: number; size: number }
  | { does: 'hide' | 'transfer' | 'remove'; repository: number }

const few = fc.nat({ max: 3 })
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('put' as const),
      kind: few,
      key: few,
      repository: few,
      size: sizes,
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('delete' as const), kind: few, key: few }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('resize' as const), repository: few, size: sizes }) },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constantFrom('hide' as const, 'transfer' as const), repository: few }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('remove' as const), repository: few }) },
)

/** The usage, summed again in BigInt. */
class Model {
  readonly repositories: (Modeled | undefined)[] = []
  readonly entries = new Map<string, { repository: number; kind: string; size: bigint }>()

  used(owner: number): Record<string, bigint> {
    const sums: Record<string, bigint> = {
      public: 0n,
      private: 0n,
      lfs: 0n,
      artifacts: 0n,
      packages: 0n,
      attachments: 0n,
    }
    for (const one of this.repositories)
      if (one?.owner === owner) sums[one.private ? 'private' : 'public']! += one.git
    for (const { repository, kind, size } of this.entries.values())
      if (this.repositories[repository]?.owner === owner) sums[kind]! += size
    return sums
  }

  remove(repository: number): void {
    this.repositories[repository] = undefined
    for (const [key, entry] of this.entries) if (entry.repository === repository) this.entries.delete(key)
  }
}

const take = async (allot: OpenAllot, model: Model, ids: number[], step: Step): Promise<void> => {
  const { repositories } = allot.hosting
  if (step.does === 'delete') {
    await allot.ledger.delete({ kind: KINDS[step.kind]!, key: `k${step.key}` })
    model.entries.delete(`${step.kind} ${step.key}`)
    return
  }
  const one = model.repositories[step.repository]
  if (one === undefined) return
  if (step.does === 'put') {
    const kind = KINDS[step.kind]!
    const repository = `${OWNERS[one.owner]}/r${step.repository}`
    const entry = { key: `k${step.key}`, repository, name: 'n', size: step.size }
    // With what every kind needs; a kind ignores what others need.
    const more = { type: 'npm', version: '1', on: 'issue', index: 1, run: 1 } as const
    await allot.ledger.put({ ...entry, ...more, kind })
    model.entries.set(`${step.kind} ${step.key}`, {
      repository: step.repository,
      kind,
      size: BigInt(step.size),
    })
  } else if (step.does === 'resize') {
    await repositories.resize(one.id, step.size)
    one.git = BigInt(step.size)
  } else if (step.does === 'hide') {
    await repositories.edit(one.id, { private: !one.private })
    one.private = !one.private
  } else if (step.does === 'transfer') {
    await repositories.transfer(one.id, ids[1 - one.owner]!)
    one.owner = 1 - one.owner
  } else {
    await repositories.remove(one.id)
    model.remove(step.repository)
  }
}

const assertUsed = async (allot: OpenAllot, model: Model): Promise<void> => {
  for (const [at, owner] of OWNERS.entries()) {
    const { repos, git: data, assets } = (await allot.quota.info(owner)).used.size
    const sums: Record<string, Sum> = {
      ...{ public: repos.public, private: repos.private, lfs: data.LFS },
      ...{
        artifacts: assets.artifacts,
        packages: assets.packages.all,
        attachments: assets.attachments.issues,
      },
    }
    const expected = model.used(at)
    for (const [kind, sum] of Object.entries(sums)) {
      assert.equal(BigInt(sum), expected[kind], `${kind} of ${owner}`)
      assert.equal(typeof sum, expected[kind]! > LARGEST ? 'bigint' : 'number')
    }
    const total = Object.values(expected).reduce((sum, one) => sum + one, 0n)
    assert.equal(BigInt((await allot.quota.explain(owner, 'size:all')).used), total)
    assert.equal(BigInt((await allot.quota.history(owner)).at(-1)?.all ?? 0), total)
  }
}

describe('Usage beyond 2^53-1', () => {
  it('is the exact sum through puts, deletions, moves, changes of privacy and removals, and through an export', () =>
    fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 10, maxLength: 40 }), async (given) => {
        const allot = await openAllot({
          driver: memory(),
          repositories: false,
          log: quiet,
          files: { directory: temporaryDirectory() },
        })
        const model = new Model()
        const people = await Promise.all(OWNERS.map((name) => allot.hosting.accounts.createUser({ name })))
        for (let at = 0; at < 4; at++) {
          const person = people[at % 2]!
          const { id } = await allot.hosting.repositories.create(person, person, { name: `r${at}` })
          model.repositories.push({ id, owner: at % 2, private: false, git: 0n })
        }
        for (const step of given)
          await take(
            allot,
            model,
            people.map(({ id }) => id),
            step,
          )
        await assertUsed(allot, model)
        assert.deepEqual((await allot.verify()).messages, [])
        const copy = memory()
        await importAllot({ driver: copy, repositories: false }, inChunks(await exported(allot)))
        const again = await openAllot({
          driver: copy,
          repositories: false,
          log: quiet,
          files: { directory: temporaryDirectory() },
        })
        await assertUsed(again, model)
        assert.deepEqual((await again.verify()).messages, [])
        await Promise.all([allot.close(), again.close()])
      }),
      { numRuns: times(8, 30) },
    ))

  it('is compared with limits exactly', () => {
    const usages = fc.record({
      ...{ reposPublic: sizes, reposPrivate: sizes, lfs: sizes, issues: sizes },
      ...{ releases: sizes, artifacts: sizes, packages: sizes },
    }) as fc.Arbitrary<Usage & Record<string, number>>
    const listed = fc.array(fc.constantFrom('size:git:lfs' as const, 'size:assets:artifacts' as const), {
      minLength: 1,
      maxLength: 6,
    })
    fc.assert(
      fc.property(usages, listed, fc.oneof(sizes, fc.integer()), (usage, list, limit) => {
        const exact = list.reduce(
          (sum, one) => sum + BigInt(one === 'size:git:lfs' ? usage.lfs : usage.artifacts),
          0n,
        )
        const groups = [{ name: 'g', rules: [{ name: 'r', limit, subjects: list }] }]
        const [rule] = explain(groups, list[0]!, usage).groups[0]!.rules
        assert.equal(BigInt(rule!.used), exact)
        assert.equal(rule!.stands, limit === -1 || exact < BigInt(limit))
        if (limit !== -1) assert.equal(BigInt(rule!.left!), BigInt(limit) - exact)
      }),
    )
  })
})

/** A person whose usage of LFS is so many times 2^53-1. */
const large = async (allot: TestServer, name: string, times: number): Promise<Person> => {
  const person = await allot.person(name)
  await allot.as(person, 'POST', '/user/repos', { name: 'demo' })
  for (let at = 0; at < times; at++) {
    const entry = { repository: `${name}/demo`, name: 'x', size: LARGEST }
    const { status, text } = await allot.as(allot.root, 'PUT', `/admin/ledger/lfs/${name}${at}`, entry)
    assert.equal(status, 201, text)
  }
  return person
}
const TRIPLE = '27021597764222973'
const [EXACT_WORDS, LEFT] = ['27,021,597,764,222,973 bytes', '-27021597764222873']

describe('Over HTTP, usage beyond 2^53-1', () => {
  it('is sent as JSON integers, ordered exactly in lists of owners over quota, and shown to the byte on pages', async (t) => {
    const allot = await startPages()
    t.after(() => allot.stop())
    const carl = await large(allot, 'carl', 3)
    await large(allot, 'dora', 4)
    const rules = [{ name: 'hundred', limit: 100, subjects: ['size:all'] }]
    await allot.as(allot.root, 'POST', '/admin/quota/groups', { name: 'g', rules })
    for (const name of ['carl', 'dora'])
      await allot.as(allot.root, 'PUT', `/admin/quota/groups/g/users/${name}`)
    const text = async (path: string, who = carl) => (await allot.as(who, 'GET', path)).text
    assert.match(await text('/user/quota'), new RegExp(`"git":\\{"LFS":${TRIPLE}\\}`))
    assert.match(
      await text('/user/quota/explain?subject=size:git:lfs'),
      new RegExp(`"used":${TRIPLE},"limit":100,"left":${LEFT},`),
    )
    assert.equal(await text('/user/quota/check?subject=size:all'), 'true')
    assert.match(await text('/user/quota/history'), new RegExp(`"all":${TRIPLE},`))
    const over = await text('/admin/quota/over?subject=size:all', allot.root)
    assert.match(
      over,
      new RegExp(`"login":"dora".*"used":36028797018963964.*"login":"carl".*"used":${TRIPLE}`),
    )
    const page = allot.browser()
    await page.signIn('', carl.token)
    assert.ok((await page.get('/')).text.includes(EXACT_WORDS))
  })

  it('crosses a limit for listeners of quota events, and falls below it again by deletions', async (t) => {
    const allot = await start({ repositories: false, quota: { defaultTotal: LARGEST } })
    t.after(() => allot.stop())
    const heard: string[] = []
    allot.allot.on('quota', ({ owner, rule, share, reached, used }) =>
      heard.push(`${owner} ${rule} ${share} ${reached} ${used}`),
    )
    await large(allot, 'emil', 2)
    assert.equal((await allot.as(allot.root, 'DELETE', '/admin/ledger/lfs/emil0')).status, 204)
    assert.equal((await allot.as(allot.root, 'DELETE', '/admin/ledger/lfs/emil1')).status, 204)
    assert.equal(BigInt((await allot.allot.quota.info('emil')).used.size.git.LFS), 0n)
    await waitFor(() => heard.length > 3)
    assert.deepEqual(
      heard.filter((one) => one.startsWith('emil default total 1 ')),
      [`emil default total 1 true ${LARGEST}`, 'emil default total 1 false 0'],
    )
  })
})

describe('git push', () => {
  it('succeeds and is counted exactly when the owner uses 2^53-1 bytes already', async (t) => {
    const allot = await startGit()
    t.after(() => allot.stop())
    const fred = await large(allot, 'fred', 1)
    const path = await allot.repository(fred, 'code')
    const checkout = await aCheckout()
    const pushed = await attempt(checkout, ['push', '--quiet', urlFor(allot, path, fred), 'main'])
    assert.deepEqual([pushed.code, pushed.err], [0, ''])
    assert.equal(
      await git(checkout, 'ls-remote', urlFor(allot, path), 'main').then((line) => line.split('\t')[0]),
      await git(checkout, 'rev-parse', 'HEAD'),
    )
    const { used, limit } = await allot.allot.quota.explain('fred', 'size:all')
    const { repos } = (await allot.allot.quota.info('fred')).used.size
    assert.equal(used, BigInt(LARGEST) + BigInt(repos.public))
    assert.equal(limit, null)
    await allot.assertCounted('fred')
  })
})
