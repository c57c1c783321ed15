import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startBefore } from '../support/test-server.ts'

const SHORT_AND_SLOW = `${'>'.repeat(236)}<\n|*`
/** 8.5 KB that no parser finishes in time, because each row is padded to all columns. */
const TABLE = `${'|a'.repeat(1023)}\n${'|-'.repeat(1023)}\n${'|\n'.repeat(2200)}`

describe('Rendering while one client sends hostile texts', () => {
  // A long deadline: the spec is about who waits, not about the speed of the machine.
  const patient = startBefore({ repositories: false, markdown: { timeout: 4000 } })

  const ask = (Text: string, token?: string) =>
    patient.request('POST', '/markdown', { body: { Text, Mode: 'gfm' }, ...(token ? { token } : {}) })
  const times = (count: number, Text: string) => Array.from({ length: count }, () => ask(Text))

  it('delays no other request: GET /version during 40 short texts that are slow', async () => {
    await ask('x')
    // Not those that are refused because they have waited too long.
    let rendered = 0
    const hostile = times(40, SHORT_AND_SLOW).map(async (sent) => {
      const answer = await sent
      if (answer.status === 200) rendered++
      return answer
    })
    assert.equal((await patient.request('GET', '/version')).status, 200)
    // A parser in this thread would have rendered all of them, at 100 ms each.
    assert.ok(rendered < 20, `${rendered} were rendered before`)
    for (const { status } of await Promise.all(hostile)) assert.ok([200, 422, 503].includes(status))
  })

  it("uses the client's own share only: another client's text is rendered meanwhile", async () => {
    const { token } = await patient.person()
    const hostile = times(104, TABLE)
    const answer = await ask('*a*', token)
    assert.deepEqual([answer.status, answer.text], [200, '<p dir="auto"><em>a</em></p>\n'])
    const refused = (await Promise.all(hostile)).filter(({ status }) => status === 503)
    assert.ok(refused.length >= 39, `${refused.length} were refused`)
    for (const { headers } of refused) assert.equal(headers.get('retry-after'), '1')
  })
})
