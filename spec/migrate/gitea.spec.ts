import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { OPERATOR } from '../../lib/accounts/access.ts'
import { type Replay, type Reply, replay } from './replay.ts'
import { startTarget, type Target } from './two.ts'

const { answers } = JSON.parse(readFileSync(new URL('gitea.json', import.meta.url), 'utf8')) as {
  answers: Record<string, Reply>
}

/**
 * The recorded Gitea: acme has the teams Owners (ann), readers of two repositories (ben) and writers of all
 * (carl, dora).
 */
const withTarget = async (
  changed: Record<string, Reply>,
  body: (target: Target, source: Replay) => Promise<void>,
): Promise<void> => {
  const source = await replay({ ...answers, ...changed }, (_, res) => res.writeHead(404).end())
  const target = await startTarget()
  try {
    await body(target, source)
  } finally {
    source.stop()
    await target.stop()
  }
}

/** After the API's document: the records are older. */
const PERMISSION = { '/repos/ann/demo/collaborators/ben/permission': { body: { permission: 'write' } } }

describe('The recorded teams, collaborators and restricted users of a Gitea', () => {
  it('give no right here that they do not have there', () =>
    withTarget(PERMISSION, async (target, source) => {
      const report = await target.from({ base: source.base, root: { ...target.root, token: 'secret' } })
      assert.ok(report.isComplete(), report.text)
      const { accounts, collaborators, organizations, repositories } = target.allot.hosting
      const [acme, ann] = [(await accounts.byName('acme'))!, (await accounts.byName('ann'))!]
      assert.equal(acme.visibility, 'limited')
      assert.equal(await organizations.isOwner(acme.id, ann.id), true)
      const members = ['ann', 'ben', 'carl', 'dora', 'emil', 'root1']
      const found = await Promise.all(members.map((one) => organizations.hasMember(OPERATOR, 'acme', one)))
      assert.deepEqual(found, [true, true, true, true, false, false])
      const ben = { id: (await accounts.byName('ben'))!.id, admin: false }
      const readable = ['one', 'two', 'three'].map((name) => repositories.find(ben, 'acme', name, 'code'))
      const names = (await Promise.all(readable)).map((one) => one?.name)
      assert.deepEqual(names, ['one', 'two', 'three'])
      const shared = await collaborators.permission(OPERATOR, { owner: 'ann', name: 'demo' }, 'ben')
      assert.equal(shared?.permission, 'write')
      assert.equal((await accounts.byName('dora'))!.active, false)
      assert.equal((await accounts.byName('emil'))!.active, false)
      assert.match(report.text, /^ {2}restricted users, .*: dora$/m)
    }))

  it('keep an organization from being copied when its teams are not shown', () => {
    const refused = {
      status: 403,
      body: { message: 'token does not have at least one of required scope(s)' },
    }
    return withTarget({ '/orgs/acme/teams': refused }, async (target, source) => {
      const report = await target.from({ base: source.base, root: { ...target.root, token: 'secret' } })
      assert.match(
        report.text,
        /^ {2}the organization acme: \S+\/orgs\/acme\/teams answered 403: token does/m,
      )
      assert.equal(await target.allot.hosting.accounts.byName('acme'), undefined)
    })
  })
})
