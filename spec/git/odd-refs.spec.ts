import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import type { Person } from '../support/test-server.ts'
import { aCheckout, git, urlFor } from './client.ts'
import { type ServedGit, startGit } from './served.ts'

let allot: ServedGit
let ann: Person
let path: string
let checkout: string
before(async () => {
  allot = await startGit()
  ann = await allot.person('ann')
  path = await allot.repository(ann, 'demo')
  checkout = await aCheckout({ file: Buffer.from('as it was pushed\n') })
  await push('main')
})

const push = (...refs: string[]) => git(checkout, 'push', '--quiet', urlFor(allot, path, ann), ...refs)

const read = (rest: string) => allot.as(ann, 'GET', `/repos/${path}${rest}`)

describe('A pushed replacement of an object', () => {
  it('changes nothing that is read by the id of the object, and breaks nothing when replacements form a ring', async () => {
    const [commit, blob] = [
      await git(checkout, 'rev-parse', 'main'),
      await git(checkout, 'rev-parse', 'main:file'),
    ]
    writeFileSync(join(checkout, 'other'), 'something else\n')
    const other = await git(checkout, 'hash-object', '-w', 'other')
    await push(`${other}:refs/replace/${blob}`, `${blob}:refs/replace/${other}`)
    const file = await read('/raw/file')
    assert.deepEqual([file.status, file.text], [200, 'as it was pushed\n'])
    const object = await read(`/git/blobs/${blob}`)
    assert.equal(Buffer.from(object.body.content, 'base64').toString(), 'as it was pushed\n')
    const diff = await read(`/git/commits/${commit}.diff`)
    assert.match(diff.text, /^\+as it was pushed$/m)
    assert.equal((await read('/archive/main.zip')).status, 200)
    await allot.assertCounted('ann')
  })
})

describe('A branch that git takes in a push, and that no request could create', () => {
  for (const name of ['-x', '--upload-pack=x', 'HEAD', 'main@'])
    it(`is listed, read, and deleted: ${name}`, async () => {
      await push(`main:refs/heads/${name}`)
      const names = (await read('/branches')).body.map((branch: { name: string }) => branch.name)
      assert.ok(names.includes(name))
      for (const rest of [
        `/branches/${name}`,
        `/commits?sha=${name}`,
        `/contents?ref=${name}`,
        `/archive/${name}.zip`,
      ])
        assert.equal((await read(rest)).status, 200, rest)
      assert.equal((await allot.as(ann, 'DELETE', `/repos/${path}/branches/${name}`)).status, 204)
      assert.equal((await read(`/branches/${name}`)).status, 404)
    })
})
