import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import {
  follows,
  issueSubscriptions,
  packageVersions,
  repositories,
  stars,
  watches,
} from '../../lib/records/schema/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { madeBefore, peopleBefore, start } from '../support/test-server.ts'
import { repository } from './records.ts'

/** More than are read without a slot. */
const MANY = 2250
const FIRST = 1_000_000
const createdAt = 0

const aSignal = () => {
  let send = () => {}
  const sent = new Promise<void>((resolve) => {
    send = resolve
  })
  return { send, sent }
}

/** A driver one of whose searches waits until it is let go. */
const holding = (driver: StorageDriver) => {
  const [begun, end] = [aSignal(), aSignal()]
  let isArmed = false
  const read: StorageDriver['read'] = (work) =>
    driver.read((tx) =>
      work({
        ...tx,
        async *range(range) {
          if (isArmed && decodeKey(range.start)[0] === 'repository') {
            isArmed = false
            begun.send()
            await end.sent
          }
          yield* tx.range(range)
        },
      }),
    )
  const arm = () => {
    isArmed = true
  }
  return { driver: { ...driver, read }, arm, begun: begun.sent, end: end.send }
}

const held = holding(memory())
const allot = madeBefore(() => start({ driver: held.driver }))
const [many, other] = peopleBefore(allot, 'many', 'other')

it('Lists, profiles and searches for packages that read many items wait for the slot that a search of the client has', async () => {
  const app = await allot.made(many, '/user/repos', { name: 'app' })
  const made = await allot.made(many, '/repos/many/app/issues', { title: 'one' })
  const version = {
    owner: many.id,
    type: 'generic',
    name: 'tool',
    creator: many.id,
    size: 0,
    files: 0,
  } as const
  /** Adds hidden records and versions of a package, or removes them. */
  const change = (what: 'save' | 'removeLoaded') =>
    held.driver.write(async (tx) => {
      for (let id = FIRST; id < FIRST + MANY; id++) {
        await follows[what](tx, { follower: id, followed: many.id, createdAt })
        await follows[what](tx, { follower: many.id, followed: id, createdAt })
        for (const relation of [stars, watches]) {
          await relation[what](tx, { account: many.id, repository: id, createdAt })
          await relation[what](tx, { account: id, repository: app.id, createdAt })
        }
        await issueSubscriptions[what](tx, { issue: made.id, account: id, subscribed: true, createdAt })
        await repositories[what](tx, { ...repository(id, id), parent: app.id })
        await packageVersions[what](tx, { ...version, id, version: `${id}`, createdAt })
      }
    })
  await change('save')
  const lists = ['followers', 'following', 'starred', 'subscriptions'].flatMap((list) => [
    `/user/${list}`,
    `/users/many/${list}`,
  ])
  const ofApp = ['stargazers', 'subscribers', 'forks', 'issues/1/subscriptions']
  const profiles = ['/user', '/users/many']
  const ofRepository = ofApp.map((list) => `/repos/many/app/${list}`)
  const paths = [...profiles, ...lists, ...ofRepository, '/packages/many?q=other']
  held.arm()
  const search = allot.as(many, 'GET', '/repos/search?q=app&sort=id')
  await held.begun
  const statusOf = async (path: string) => [path, (await allot.as(many, 'GET', path)).status]
  const refused = await Promise.all(paths.map(statusOf))
  assert.deepEqual(
    refused,
    paths.map((path) => [path, 503]),
  )
  assert.equal((await allot.as(other, 'GET', '/users/many/starred')).status, 200)
  held.end()
  assert.equal((await search).status, 200)
  for (const path of paths) assert.deepEqual(await statusOf(path), [path, 200])
  await change('removeLoaded')
})
