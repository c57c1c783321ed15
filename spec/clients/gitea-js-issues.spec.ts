import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { giteaApi } from 'gitea-js'
import { peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })
const [alice] = peopleBefore(allot, 'alice')

const file = (name: string, words: string) => new File([words], name)

describe('The published client gitea-js', () => {
  it('works with issues, comments, releases and the attachments of each', async () => {
    const { repos } = giteaApi(allot.base, { token: alice.token })
    const api = giteaApi(allot.base, { token: alice.token })
    await api.user.createCurrentUserRepo({ name: 'demo' })
    const at = ['alice', 'demo'] as const

    const issue = (await repos.issueCreateIssue(...at, { title: 'It breaks', body: 'x' })).data
    assert.deepEqual([issue.number, issue.user?.login, issue.labels], [1, 'alice', []])
    const comment = (await repos.issueCreateComment(...at, 1, { body: 'here too' })).data
    await repos.issueEditIssue(...at, 1, { state: 'closed' })
    assert.deepEqual((await repos.issueListIssues(...at)).data, [])
    assert.equal((await repos.issueListIssues(...at, { state: 'all', q: 'breaks' })).data[0]?.comments, 1)
    assert.equal((await repos.issueGetComments(...at, 1)).data[0]?.id, comment.id)

    const release = (await repos.repoCreateRelease(...at, { tag_name: 'v1', name: 'One' })).data
    assert.equal((await repos.repoGetReleaseByTag(...at, 'v1')).data.id, release.id)
    await assert.rejects(repos.repoCreateRelease(...at, { tag_name: 'v1' }), { status: 409 })

    const log = { attachment: file('log.txt', 'lines') }
    const onIssue = (await repos.issueCreateIssueAttachment(...at, 1, log)).data
    assert.deepEqual([onIssue.name, onIssue.size], ['log.txt', 5])
    const onComment = (await repos.issueCreateIssueCommentAttachment(...at, comment.id!, log)).data
    const zip = { attachment: file('a.zip', 'bytes') }
    const onRelease = (await repos.repoCreateReleaseAttachment(...at, release.id!, zip, { name: 'b.zip' }))
      .data
    assert.equal(onRelease.name, 'b.zip')
    assert.equal(await (await fetch(onRelease.browser_download_url!)).text(), 'bytes')
    assert.equal((await repos.repoGetRelease(...at, release.id!)).data.assets?.[0]?.download_count, 1)
    assert.equal((await allot.allot.quota.info('alice')).used.size.assets.attachments.issues, 10)

    await repos.issueEditIssueAttachment(...at, 1, onIssue.id!, { name: 'c.txt' })
    assert.equal((await repos.issueListIssueAttachments(...at, 1)).data[0]?.name, 'c.txt')
    await repos.issueDeleteIssueCommentAttachment(...at, comment.id!, onComment.id!)
    await repos.issueDelete(...at, 1)
    await repos.repoDeleteRelease(...at, release.id!)
    const { attachments } = (await allot.allot.quota.info('alice')).used.size.assets
    assert.deepEqual(attachments, { issues: 0, releases: 0 })
  })
})
