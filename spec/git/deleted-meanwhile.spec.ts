import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertNotFound } from '../support/expectations.ts'
import { waitFor } from '../support/wait-for.ts'
import { startGit } from './served.ts'

it('A commit over the API is answered 404 when its repository is deleted meanwhile', async () => {
  const logged: string[] = []
  const log = {
    error: (_fields: object, message: string) => void logged.push(message),
    info: () => undefined,
  }
  let deletion: Promise<{ status: number }> | undefined
  const allot = await startGit({
    log,
    async onBeforeStore({ kind }) {
      if (kind !== 'commit') return
      deletion = allot.as(ann, 'DELETE', `/repos/${path}`)
      await waitFor(async () => (await allot.as(ann, 'GET', `/repos/${path}`)).status === 404)
    },
  })
  const ann = await allot.person('ann')
  const path = await allot.repository(ann, 'demo')
  const body = { content: Buffer.from('text').toString('base64') }
  assertNotFound(await allot.as(ann, 'POST', `/repos/${path}/contents/new`, body))
  assert.equal((await deletion)?.status, 204)
  assert.deepEqual(
    logged.filter((message) => message.includes('request')),
    [],
  )
})
