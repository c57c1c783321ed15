import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'

const DATES = { createdAt: 1, updatedAt: 1, closedAt: null }
const ISSUE = { number: 1, title: 'title', body: '', state: 'open', ...DATES } as const
const RELEASE = { tag: 'v1', target: 'main', name: '', body: '', draft: false, prerelease: false }
const origin = (name: string) => ({ scope: 'ann/copied', name })

const opened = async () => {
  const allot = await openAllot({ driver: memory(), repositories: false })
  const { hosting } = allot
  const ann = await hosting.accounts.createUser({ name: 'ann' })
  const ben = await hosting.accounts.createUser({ name: 'ben' })
  const repository = await hosting.repositories.create(ann, ann, { name: 'copied' })
  const content = hosting.migratedContent(hosting.migrationLog('https://git.example.org'))
  return { allot, hosting, ann, ben, repository: repository.id, content }
}

describe('Content of another server', () => {
  it('subscribes the authors who have accounts here to their issues, until they unsubscribe', async () => {
    const { allot, hosting, ann, ben, repository, content } = await opened()
    const path = { owner: 'ann', name: 'copied' }
    const subscribed = async () => {
      const found = await hosting.issueSubscriptions.list(ann, path, 1, { offset: 0, limit: 10 })
      return found?.items.map(({ name }) => name)
    }
    const saveIssue = (id?: number) =>
      content.saveIssue({ ...ISSUE, repository, author: ben.id }, origin('issue'), id)
    await saveIssue()
    assert.deepEqual(await subscribed(), ['ben'])
    const { issue } = (await hosting.issues.find(ann, path, 1))!
    const comment = { issue: issue.id, body: 'text', createdAt: 1, updatedAt: 1 }
    await content.saveComment({ ...comment, author: ann.id }, origin('one'))
    await content.saveComment({ ...comment, author: await content.ghost() }, origin('other'))
    assert.deepEqual(await subscribed(), ['ann', 'ben'])
    await hosting.issueSubscriptions.set(ben, path, 1, 'ben', false)
    await saveIssue(issue.id)
    assert.deepEqual(await subscribed(), ['ann'])
    assert.deepEqual((await allot.verify()).messages, [])
    await allot.close()
  })

  it('is not saved in a repository that was deleted meanwhile', async () => {
    const { allot, hosting, ann, repository, content } = await opened()
    await hosting.repositories.remove(repository)
    const gone = { code: 'not_found', message: 'the repository was deleted' }
    const author = ann.id
    await assert.rejects(content.saveIssue({ ...ISSUE, repository, author }, origin('issue')), gone)
    await assert.rejects(content.reserveNumbers(repository, 5), gone)
    const release = { ...RELEASE, repository, author, createdAt: 1, publishedAt: 1 }
    await assert.rejects(content.saveRelease(release, origin('release')), gone)
    assert.deepEqual((await allot.verify()).messages, [])
    await allot.close()
  })
})
