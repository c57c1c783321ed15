import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Report } from '../../bin/migrate/report.ts'
import { madeBefore, peopleBefore, startBefore, type TestServer } from '../support/test-server.ts'
import { startTarget } from './two.ts'

const APP = '/repos/ann/app'

let report: Report & { text: string }

/** Something at the source with an issue, or a release, of its own. */
interface Place {
  /** Path of the issue or the release in the API of either server. */
  path: string
  /** Path of its only comment. */
  comment: string
}

interface Case {
  what: string
  on: 'issue' | 'release'
  /** Changes the copy, or what belongs to it, or creates something that belongs to it. */
  change(place: Place): Promise<unknown>
  /** What the source removes. */
  remove(place: Place): string | Promise<string>
  /** What the report names, as changed here; with `own`, as staying for what was created here. */
  kinds: readonly ('issues' | 'comments' | 'releases' | 'attachments')[]
  own?: true
}

const here = (method: string, path: string, body?: unknown) => target.as(target.root, method, path, body)

/**
 * The path of the first attachment.
 * @param path of what has it
 */
const assetOf = async (server: TestServer, path: string): Promise<string> => {
  const { body } = await server.as(server.root, 'GET', path)
  return `${path}/assets/${body.assets[0].id}`
}
const rename = async (path: string) => here('PATCH', await assetOf(target, path), { name: 'mine.txt' })
const issue = ({ path }: Place) => path
const comment = ({ comment }: Place) => comment

const aCase = (
  what: string,
  on: Case['on'],
  kinds: Case['kinds'],
  change: Case['change'],
  more: Partial<Pick<Case, 'remove' | 'own'>> = {},
): Case => ({ what, on, kinds, change, remove: issue, ...more })
const attached = (path: string) => target.attach(target.root, path, 'mine', 'mine.txt')
const own = true

const CASES: readonly Case[] = [
  aCase('an issue that was edited here', 'issue', ['issues'], ({ path }) =>
    here('PATCH', path, { title: 'mine' }),
  ),
  aCase('an issue that was closed here', 'issue', ['issues'], ({ path }) =>
    here('PATCH', path, { state: 'closed' }),
  ),
  aCase(
    ...(['an issue with a comment from here', 'issue', ['issues']] as const),
    ({ path }) => here('POST', `${path}/comments`, { body: 'mine' }),
    { own },
  ),
  aCase('an issue with a comment that was edited here', 'issue', ['comments'], ({ comment }) =>
    here('PATCH', comment, { body: 'mine' }),
  ),
  aCase('an issue with an attachment from here', 'issue', ['issues'], ({ path }) => attached(path), { own }),
  aCase('an issue with an attachment that was renamed here', 'issue', ['attachments'], ({ path }) =>
    rename(path),
  ),
  aCase(
    ...([
      'an issue with a comment that has an attachment from here',
      'issue',
      ['issues', 'comments'],
    ] as const),
    ({ comment }) => attached(comment),
    { own },
  ),
  aCase(
    ...(['a comment that was edited here', 'issue', ['comments']] as const),
    ({ comment }) => here('PATCH', comment, { body: 'mine' }),
    { remove: comment },
  ),
  aCase(
    ...(['a comment with an attachment from here', 'issue', ['comments']] as const),
    ({ comment }) => attached(comment),
    { remove: comment, own },
  ),
  aCase('a release that was edited here', 'release', ['releases'], ({ path }) =>
    here('PATCH', path, { body: 'mine' }),
  ),
  aCase('a release with a file from here', 'release', ['releases'], ({ path }) => attached(path), { own }),
  aCase(
    ...(['an attachment of an issue that was renamed here', 'issue', ['attachments']] as const),
    ({ path }) => rename(path),
    { remove: ({ path }) => assetOf(source, path) },
  ),
  aCase(
    ...(['an attachment of a comment that was renamed here', 'issue', ['attachments']] as const),
    ({ comment }) => rename(comment),
    { remove: ({ comment }) => assetOf(source, comment) },
  ),
  aCase(
    ...(['a file of a release that was renamed here', 'release', ['attachments']] as const),
    ({ path }) => rename(path),
    { remove: ({ path }) => assetOf(source, path) },
  ),
]

/**
 * Creates what a case is about.
 * @returns its paths
 */
const create = async (on: Case['on'], name: string): Promise<Place> => {
  const given = on === 'issue' ? { title: name } : { tag_name: name, name }
  const made = (await source.as(ann, 'POST', `${APP}/${on}s`, given)).body
  const path = `${APP}/${on}s/${on === 'issue' ? made.number : made.id}`
  await source.attach(ann, path, 'theirs', 'theirs.txt')
  if (on === 'release') return { path, comment: '' }
  const { id } = (await source.as(ann, 'POST', `${path}/comments`, { body: 'theirs' })).body
  const comment = `${APP}/issues/comments/${id}`
  await source.attach(ann, comment, 'theirs', 'theirs.txt')
  return { path, comment }
}

/** The place here, where the comment has another id. */
const placeHere = async ({ path, comment }: Place): Promise<Place> => {
  if (comment === '') return { path, comment }
  const [own] = (await here('GET', `${path}/comments`)).body
  return { path, comment: `${APP}/issues/comments/${own.id}` }
}

/** What this server has of a place: its texts, and the names of its files. */
const leftOf = async ({ path, comment }: Place): Promise<string[]> => {
  const { status, body } = await here('GET', path)
  if (status === 404) return []
  const comments = comment === '' ? [] : (await here('GET', `${path}/comments`)).body
  const files = [body, ...comments].flatMap(({ assets }) => assets.map(({ name }: { name: string }) => name))
  return [body.title ?? body.name, ...comments.map((one: { body: string }) => one.body), ...files]
}

const places = new Map<string, Place>()
const placesHere = new Map<string, Place>()
const untouched = ['issue', 'comment', 'release'] as const

const source = startBefore({ dialect: 'forgejo' })
const target = madeBefore(() => startTarget())
const [ann] = peopleBefore(source, 'ann')
before(async () => {
  await source.as(ann, 'POST', '/user/repos', { name: 'app' })
  for (const [index, { what, on }] of CASES.entries()) places.set(what, await create(on, `case${index}`))
  for (const kind of untouched)
    places.set(kind, await create(kind === 'release' ? 'release' : 'issue', `untouched-${kind}`))
  const first = await target.from(source)
  assert.ok(first.isComplete(), first.text)
  for (const [what, place] of places) placesHere.set(what, await placeHere(place))
  for (const { what, change } of CASES) await change(placesHere.get(what)!)
  for (const { what, remove } of CASES)
    assert.equal((await source.as(ann, 'DELETE', await remove(places.get(what)!))).status, 204, what)
  for (const kind of untouched) {
    const { path, comment } = places.get(kind)!
    assert.equal((await source.as(ann, 'DELETE', kind === 'comment' ? comment : path)).status, 204)
  }
  report = await target.from(source)
  assert.ok(report.isComplete(), report.text)
})
after(async () => {
  await source.stop()
  await target.stop()
})

/** What stays here, by the case. */
const LEFT: Readonly<Record<string, readonly string[]>> = {
  'an issue with a comment from here': ['case2', 'mine'],
  'an issue with an attachment from here': ['case4', 'mine.txt'],
  'an issue with a comment that has an attachment from here': ['case6', 'theirs', 'mine.txt'],
  'a comment that was edited here': ['case7', 'theirs.txt'],
  'a comment with an attachment from here': ['case8', 'theirs', 'theirs.txt', 'mine.txt'],
  'a release with a file from here': ['case10', 'mine.txt'],
  'an attachment of an issue that was renamed here': ['case11', 'theirs', 'theirs.txt'],
  'an attachment of a comment that was renamed here': ['case12', 'theirs', 'theirs.txt'],
  'a file of a release that was renamed here': ['case13'],
}

const listed = (line: string): number => {
  const found = report.text.split('\n').find((text) => text.startsWith(`  ${line}: `))
  return found?.match(/ \(ann\/app/g)?.length ?? 0
}

describe('What the source has removed', () => {
  for (const { what, own } of CASES)
    it(`${own ? 'stays with what was created here' : 'is removed'}: ${what}`, async () => {
      assert.deepEqual(await leftOf(places.get(what)!), LEFT[what] ?? [])
    })

  for (const kind of ['issues', 'comments', 'releases', 'attachments'] as const)
    it(`is listed when it was changed here, or stays: ${kind}`, () => {
      const count = (isOwn: boolean) =>
        CASES.filter(({ kinds, own = false }) => kinds.includes(kind) && own === isOwn).length
      assert.equal(listed(`${kind} that were changed here`), count(false), report.text)
      const stays =
        'that were removed at the source, and stay, since something that was created here needs them'
      assert.equal(listed(`${kind} ${stays}`), count(true), report.text)
    })

  it('is removed when nothing of it was changed or created here', async () => {
    for (const kind of ['issue', 'release'] as const)
      assert.equal((await here('GET', places.get(kind)!.path)).status, 404)
    assert.deepEqual((await here('GET', `${places.get('comment')!.path}/comments`)).body, [])
  })

  it('is the same after each later run, and the store verifies', async () => {
    const again = await target.from(source)
    assert.ok(again.isComplete(), again.text)
    for (const { what } of CASES) assert.deepEqual(await leftOf(places.get(what)!), LEFT[what] ?? [], what)
    assert.doesNotMatch(again.text, /^(removed, because|overwritten)/m)
    assert.equal((await target.allot.verify()).faults, 0)
  })
})
