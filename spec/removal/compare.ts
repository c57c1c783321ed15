import assert from 'node:assert/strict'
import * as v from 'valibot'
import type { Viewer } from '../../lib/accounts/access.ts'
import { presentRepository } from '../../lib/api/repository-presenter.ts'
import { repositoryDetails } from '../../lib/content/details.ts'
import type { StorageItemQuery } from '../../lib/content/usage/storage-item.ts'
import { HtmlUrls } from '../../lib/host-pages/html-urls.ts'
import { PageSections } from '../../lib/options/pages.ts'
import type { ListedKind } from '../../lib/quota/ledger.ts'
import { LedgerKind } from '../../lib/records/schema/index.ts'
import { repositoriesFor } from '../../lib/repositories/lists.ts'
import type { RemovalFixture } from './fixture.ts'
import { type Asker, canRead, canSee, type Entry, type Model, ownerOf, type Repo } from './model.ts'
import { namedEntry } from './play.ts'

const htmlUrls = new HtmlUrls(v.parse(PageSections, {}).htmlUrls)

/**
 * Everything that can be read must be as the model has it, whatever is still to be swept.
 * @param turn who asks, and for which kind of entry: all of them at every step would take long.
 */
export const compare = async (fixture: RemovalFixture, model: Model, turn: number): Promise<void> => {
  for (const [name, { id }] of model.accounts) {
    assert.deepEqual((await fixture.quota.statuses.of(id)).usage, usageOf(model, name))
    assert.equal((await fixture.quota.explain(id, 'size:all')).used, sum(Object.values(usageOf(model, name))))
    for (const kind of ['attachments', 'artifacts', 'packages'] as const)
      await compareUsed(fixture, model, name, kind)
    for (const query of [{}, QUERIES[turn % QUERIES.length]!])
      await compareStored(fixture, model, name, query)
  }
  const kind = LedgerKind.options[turn % 4]!
  for (const key of 'abcdefgh') {
    const entry = model.entries.get(`${kind} ${key}`)
    const found = await fixture.hosting.ledger.get({ kind, key })
    assert.deepEqual(found, entry && namedEntry(model, entry))
  }
  const sender = [null, 'ann', 'cat', 'root'][turn % 4]!
  if (sender === null || sender === 'root' || model.accounts.has(sender))
    await compareSeen(fixture, model, sender)
}

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)

const usageOf = (model: Model, owner: string) => {
  const repos = (hidden: boolean) =>
    sum(
      [...model.repositories.values()].map((it) =>
        it.owner === owner && it.private === hidden ? it.size : 0,
      ),
    )
  const entries = (counts: (entry: Entry) => boolean) =>
    sum([...model.entries.values()].map((it) => (ownerOf(model, it) === owner && counts(it) ? it.size : 0)))
  return {
    reposPublic: repos(false),
    reposPrivate: repos(true),
    lfs: entries((it) => it.kind === 'lfs'),
    issues: entries((it) => it.on === 'issue'),
    releases: entries((it) => it.on === 'release'),
    artifacts: entries((it) => it.kind === 'artifacts'),
    packages: entries((it) => it.kind === 'packages'),
  }
}

const lfsIn = (model: Model, id: number) =>
  sum([...model.entries.values()].map((it) => (it.kind === 'lfs' && it.place === id ? it.size : 0)))

/** The lists of what counts are ordered by size, the largest first, then by name. */
const compareUsed = async (fixture: RemovalFixture, model: Model, owner: string, kind: ListedKind) => {
  const expected = [...model.entries.values()]
    .filter((it) => it.kind === kind && ownerOf(model, it) === owner)
    .sort((one, other) => other.size - one.size || (one.key < other.key ? -1 : 1))
    .map((it) => it.key)
  const listed: string[] = []
  const limit = Math.max(3, Math.ceil(expected.length / 4))
  for (let offset = 0; offset === 0 || offset < expected.length; offset += limit) {
    const { id } = model.accounts.get(owner)!
    const slice = { offset, limit }
    const { items, total } = await fixture.store.read((tx) =>
      fixture.hosting.usage.used(tx, { id, admin: false }, id, kind, slice),
    )
    listed.push(...items.map(({ entry }) => entry.key))
    assert.equal(total, expected.length)
  }
  assert.deepEqual(listed, expected)
}

const QUERIES: readonly StorageItemQuery[] = [
  { kind: 'repositories' },
  { kind: 'git' },
  { kind: 'lfs' },
  { search: 'A' },
  { sort: 'name' },
  { sort: 'name', reverse: true },
  { repository: 'R1' },
]

/** The list of all that an owner uses. */
const compareStored = async (
  { hosting }: RemovalFixture,
  model: Model,
  owner: string,
  query: StorageItemQuery,
): Promise<void> => {
  const stored = [...model.entries.values()].flatMap((it) => {
    const repo = typeof it.place === 'number' ? model.repositories.get(it.place) : undefined
    const { kind, key: name, size } = it
    return ownerOf(model, it) === owner ? [{ kind, id: `${kind}:${name}`, name, size, repo }] : []
  })
  const whole = [...model.repositories].flatMap(([id, repo]) => {
    const { name, size } = repo
    const all = size + sum(stored.map((it) => (it.repo === repo ? it.size : 0)))
    const items = [
      { kind: 'git', id: `git:${id}`, name, size, repo },
      { kind: 'repositories', id: `repositories:${id}`, name, size: all, repo },
    ]
    return repo.owner === owner ? items : []
  })
  const { kind, search = '', repository, sort, reverse } = query
  const expected = [...stored, ...whole]
    .filter((it) => (kind === undefined ? it.kind !== 'repositories' : it.kind === kind))
    .filter((it) => it.name.includes(search.toLowerCase()))
    .filter((it) => repository === undefined || it.repo?.name === repository.toLowerCase())
    .sort((one, other) => {
      const bySize = sort === 'name' ? 0 : other.size - one.size
      return (reverse ? -1 : 1) * (bySize || text(one.name, other.name)) || text(one.id, other.id)
    })
    .map(({ id, size }) => [id, size])
  const { id } = model.accounts.get(owner)!
  const page = async (offset: number, limit: number) => {
    const { items, total } = await hosting.storageItems.list({ id, admin: false }, id, query, {
      offset,
      limit,
    })
    return [items.map((it) => [it.id, it.size]), total]
  }
  assert.deepEqual(await page(0, 100), [expected, expected.length], JSON.stringify(query))
  const middle = Math.floor(expected.length / 2)
  assert.deepEqual(await page(middle, 3), [expected.slice(middle, middle + 3), expected.length])
}

const text = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

const ALL = { offset: 0, limit: 100 }

/** The records that a viewer can see. */
const compareSeen = async (
  { hosting, store }: RemovalFixture,
  model: Model,
  sender: Asker,
): Promise<void> => {
  const viewer: Viewer =
    sender === null ? null : { id: model.accounts.get(sender)?.id ?? 1_000_000, admin: sender === 'root' }
  const readable = [...model.repositories].filter(([, repo]) => canRead(model, sender, repo))
  const ids = (of: [number, Repo][]) => of.map(([id]) => id).sort((one, other) => one - other)
  const sorted = <T extends { id: number }>(items: T[]) => ids(items.map((it) => [it.id, undefined as never]))

  const found = await hosting.search.repositories(viewer, {}, ALL)
  assert.deepEqual([found.total, sorted(found.items)], [readable.length, ids(readable)])
  const details = await store.read((tx) => repositoryDetails(tx, viewer, found.items))
  const recipient = { user: viewer, baseUrl: 'http://host', apiUrl: '', htmlUrls }
  const shown = details.map((repository) => presentRepository(repository, recipient))
  for (const one of shown) {
    const repo = model.repositories.get(one.id)!
    assert.deepEqual(
      [one.full_name, one.private, one.stars_count, one.watchers_count],
      [`${repo.owner}/${repo.name}`, repo.private, repo.stars.size, repo.watches.size],
    )
  }
  if (viewer !== null && !viewer.admin) {
    const own = readable.filter(([, it]) => it.owner === sender || (it.owner === 'guild' && sender === 'ann'))
    const mine = await store.read((tx) => repositoriesFor(tx, viewer, 'id', ALL))
    assert.deepEqual([mine.total, mine.items.map((it) => it.id)], [own.length, ids(own)])
  }
  for (const [name, { id }] of model.accounts) {
    const listed = await hosting.repositories.list(viewer, id, 'id', ALL)
    const owned = readable.filter(([, repo]) => repo.owner === name)
    assert.deepEqual([listed.total, listed.items.map((it) => it.id)], [owned.length, ids(owned)])
    const bySize = await hosting.repositories.list(viewer, id, 'size', ALL)
    const sizes = owned.map(([id, repo]) => ({ id, size: repo.size + lfsIn(model, id) }))
    sizes.sort((one, other) => one.size - other.size || one.id - other.id)
    assert.deepEqual(
      bySize.items.map((it) => it.id),
      sizes.map((it) => it.id),
    )
    for (const relation of ['stars', 'watches'] as const) {
      const related = readable.filter(([, repo]) => repo[relation].has(name))
      const page = await hosting.relations[relation].list(viewer, id, ALL)
      assert.deepEqual([page.total, page.items.map((it) => it.id)], [related.length, ids(related)])
      const last = await hosting.relations[relation].list(viewer, id, {
        offset: related.length - 1,
        limit: 1,
      })
      if (related.length > 0) assert.deepEqual(sorted(last.items), ids(related).slice(-1))
    }
    for (const side of ['followers', 'following'] as const) {
      const pair = (other: string) => (side === 'followers' ? `${other} ${name}` : `${name} ${other}`)
      const others = [...model.accounts].filter(
        ([other]) => model.follows.has(pair(other)) && canSee(model, sender, other),
      )
      const expected = others.map(([, it]) => it.id).sort((one, other) => one - other)
      const page = await hosting.relations.follows.list(side, viewer, id, ALL)
      assert.deepEqual([page.total, page.items.map((it) => it.id)], [expected.length, expected])
    }
  }
}
