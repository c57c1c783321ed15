import { replay } from './replay.ts'
import { makeRepositories, makeUsage, putLedger, QUOTA_REPOSITORIES, resizeTo, WITHOUT_GIT } from './state.ts'
import type { World } from './world.ts'

const numbers = Array.from({ length: 55 }, (_, index) => index + 1)

/** 55 attachments, packages and artifacts of carol, so that their lists have two pages. */
const makePages = async (world: World) => {
  await world.make('carol', 'POST', '/repos/carol/r01/issues', { title: 'files' })
  for (const number of numbers) {
    const repository = 'carol/r01'
    const padded = String(number).padStart(2, '0')
    await upload(world, 'carol', 'carol/r01/issues/1', `f${padded}.zip`, 1_000 + number)
    await putLedger(world, 'artifacts', { [`art${padded}`]: { repository, run: 1, size: 10 + number } })
    await putLedger(world, 'packages', {
      [`bulk-${number}`]: {
        name: 'bulk',
        owner: 'carol',
        type: 'generic',
        version: `1.0.${number}`,
        size: 100 + number,
      },
    })
  }
}

const upload = (world: World, as: string, path: string, filename: string, bytes: number) =>
  world.send({
    as,
    request: {
      method: 'POST',
      path: `/api/v1/repos/${path}/assets`,
      auth: 'token',
      headers: { 'content-type': 'multipart/form-data; boundary=XXBOUNDARYXX' },
      body: { $multipart: [{ field: 'attachment', filename, 'content-type': 'application/zip', bytes }] },
    },
  })

replay('quota-user', {
  options: { ...WITHOUT_GIT, quota: { defaultTotal: 1024 ** 3 } },
  async prepare(world) {
    await makeRepositories(world, QUOTA_REPOSITORIES)
    await resizeTo(world, {
      'bob/bobrepo': 26_258,
      'bob/bobsecret': 87,
      'acme/full-orgrepo': 13_235,
      'acme/priv-orgrepo': 174,
    })
  },
  steps: {
    'usage.comment': (world) => upload(world, 'bob', 'alice/demo/issues/1', 'bob-issue.zip', 1_000),
    'usage.att.acme.comment': async (world) => {
      await world.make('alice', 'POST', '/repos/acme/full-orgrepo/issues/1/comments', { body: 'c' })
    },
    'usage.att.draft': (world) =>
      world.make('alice', 'POST', '/repos/alice/secret/releases', { tag_name: 'v1', draft: true }),
    'quota.read': async (world) => {
      await makeUsage(world)
      await makePages(world)
    },
    'final.repo.rename': (world) => world.make('frank', 'PUT', '/user/starred/carol/r02'),
    'final.inactive.basic': async (world) => {
      await world.make('alice', 'PUT', '/user/following/eve')
      await world.make('root1', 'PATCH', '/admin/users/eve', { active: false })
    },
  },
  leaveOut: {
    'final.rename': 'Allot does not rename accounts',
    'final.renamed.*': 'Allot does not rename accounts',
    'final.delete*': 'the deleted account was renamed before',
  },
})
