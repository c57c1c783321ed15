import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { countReads } from '../counted.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, type Person } from '../support/test-server.ts'
import { type PageClient, startPages, words } from './browser.ts'
import { PASSWORD } from './fixture.ts'

/** Records and index entries that a page reads at most, however much the owner has. */
const BOUND = 1000
const MANY = 3000

const rowOf = (html: string, of: RegExp): string =>
  [...html.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) => words(row).trim()).find((row) => of.test(row)) ?? ''

describe('Before an owner with many items is deleted', () => {
  const counted = countReads(memory())
  let browser: PageClient
  let root: PageClient

  const putMany = async (entryOf: (index: number) => Parameters<typeof allot.allot.ledger.put>[0]) => {
    for (let from = 0; from < MANY; from += 1000)
      await allot.allot.ledger.batch(
        Array.from({ length: 1000 }, (_, index) => ({ op: 'put' as const, ...entryOf(from + index) })),
      )
  }
  const upload = (person: Person, name: string, size: number) =>
    fetch(`${allot.base}/api/packages/${person.name}/generic/${name}/1.0/app.bin`, {
      method: 'PUT',
      headers: { authorization: `token ${person.token}` },
      body: 'x'.repeat(size),
    })

  const allot = madeBefore(() =>
    startPages({ driver: counted.driver, repositories: { directory: temporaryDirectory() } }),
  )
  const ann = madeBefore(() => allot.person('ann', { password: PASSWORD }))
  before(async () => {
    for (const name of ['large', 'small']) {
      const created = await allot.as(ann, 'POST', '/user/repos', { name })
      assert.equal(created.status, 201, JSON.stringify(created.body))
    }
    await putMany((index) => ({
      ...{
        kind: 'artifacts',
        key: `a${index}`,
        repository: 'ann/large',
        name: `a${index}`,
        size: 1024,
        run: 1,
      },
    }))
    browser = await allot.signedIn('ann', PASSWORD)
    root = await allot.signedIn('', allot.root.token)
    await root.get('/-/admin')
  })

  /** Sends a form, and checks what it reads. */
  const pageOf = async (client: PageClient, path: string, fields: Record<string, string | string[]>) => {
    let text = ''
    const reads = await counted.during(async () => {
      const answer = await client.post(path, fields)
      assert.equal(answer.status, 200)
      text = answer.text
    })
    assert.ok(reads < BOUND, `${path} read ${reads} records and index entries`)
    return text
  }
  const repository = async (name: string) =>
    `repositories:${(await allot.as(ann, 'GET', `/repos/ann/${name}`)).body.id}`

  it('the sizes of a kind come from the counters', async () => {
    assert.equal((await upload(ann, 'app', 2048)).status, 201)
    const size = `${((MANY * 1024) / 2 ** 20).toFixed(2)} MiB`
    const asked = await pageOf(browser, '/-/storage/ann/remove', {
      item: [await repository('large'), await repository('small')],
    })
    assert.match(rowOf(asked, /Artifacts/), new RegExp(`^Artifacts ${size}.*Stays`))
    assert.doesNotMatch(words(asked), /at least|up to/)
    const account = await pageOf(root, '/-/admin/account/delete', { name: 'ann' })
    assert.match(rowOf(account, /Artifacts/), new RegExp(`^Artifacts ${size}.*Stays`))
    assert.match(rowOf(account, /Packages/), /^Packages 2 KiB$/)
    assert.doesNotMatch(words(account), /at least|up to/)
  })

  it('a kind of which other systems store a part frees at most all of it', async () => {
    await putMany((index) => ({
      ...{ kind: 'packages', key: `p${index}`, repository: 'ann/large', name: `p${index}`, size: 1024 },
      ...{ type: 'npm', version: '1' },
    }))
    const account = await pageOf(root, '/-/admin/account/delete', { name: 'ann' })
    assert.match(words(account), /this frees at least /)
    const size = `${((MANY * 1024 + 2048) / 2 ** 20).toFixed(2)} MiB`
    assert.match(rowOf(account, /Packages/), new RegExp(`^Packages Those that .* up to ${size}$`))
    const asked = await pageOf(browser, '/-/storage/ann/remove', { item: await repository('large') })
    assert.match(words(asked), /Delete and free at least /)
  })

  it('an owner with more repositories than are listed says how many are left', async () => {
    const many = await allot.person('many')
    const account = (await allot.allot.hosting.accounts.byId(many.id))!
    const names = Array.from({ length: 30 }, (_, index) => `r${index}`)
    for (const name of names) await allot.allot.hosting.repositories.create(account, account, { name })
    await allot.allot.ledger.batch(
      names.map((name) => ({
        ...{ op: 'put' as const, kind: 'lfs' as const, key: `l-${name}`, repository: `many/${name}` },
        ...{ name: 'l', size: 1024 },
      })),
    )
    const text = await pageOf(root, '/-/admin/account/delete', { name: 'many' })
    assert.match(rowOf(text, /LFS/), /^LFS objects 30 KiB, .*Stays/)
    assert.match(words(text), /And 10 smaller ones\./)
  })

  it('lists the largest repositories of all that goes, of the account and of its organizations', async () => {
    const { accounts, organizations, repositories } = allot.allot.hosting
    const both = await allot.person('both')
    const account = (await accounts.byId(both.id))!
    const club = await organizations.create(both.id, { name: 'both-club' })
    const create = async (owner: typeof account, name: string, size: number) => {
      const { id } = await repositories.create(owner, account, { name })
      await repositories.resize(id, size)
    }
    for (let index = 0; index < 20; index++) await create(account, `own-${index}`, 1000 + index)
    await create(club, 'huge', 2 ** 20)
    const text = await pageOf(root, '/-/admin/account/delete', { name: 'both' })
    assert.match(rowOf(text, /^huge/), /^huge repository of both-club 1 MiB/)
    assert.equal(rowOf(text, /^own-0 /), '')
    assert.match(words(text), /And 1 smaller one\./)
  })

  it('repositories that the session may not read are listed without name and links', async () => {
    const { accounts, repositories } = allot.allot.hosting
    const shy = await allot.person('shy')
    const account = (await accounts.byId(shy.id))!
    await repositories.create(account, account, { name: 'diary', private: true })
    const entry = { kind: 'artifacts', key: 'page', repository: 'shy/diary', name: 'page', run: 1 } as const
    await allot.allot.ledger.put({ ...entry, size: 1024 })
    const reader = await allot.signedIn(
      '',
      await allot.scoped(allot.root, 'read:admin', 'write:admin', 'read:user'),
    )
    await reader.get('/-/admin')
    const text = await pageOf(reader, '/-/admin/account/delete', { name: 'shy' })
    assert.match(rowOf(text, /repository of shy/), /^Hidden repository of shy/)
    assert.doesNotMatch(text, /diary|usage\?kind=artifacts/)
    const all = await pageOf(root, '/-/admin/account/delete', { name: 'shy' })
    assert.match(all, /usage\?kind=artifacts&amp;repository=diary/)
  })
})
