import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { emptyStore } from '../postgres/empty-store.ts'
import { lacks } from '../support/requirements.mjs'
import { waitFor } from '../support/wait-for.ts'
import { authority, configured, send, serialOf, serveHttps } from './https.ts'
import { served } from './program.ts'

describe('allot serve --workers with a certificate', { skip: lacks('PostgreSQL') }, () => {
  it('serves https with each worker, redirects, and reloads the certificate in all of them', async (t) => {
    const { url, drop } = await emptyStore()
    t.after(drop)
    const [first, second] = [authority.issue(), authority.issue()]
    const more = ['--workers', '2', '--storage', url, '--redirect-port', '0']
    const logged = configured('[server]\nlog = "requests"\n')
    const server = await serveHttps(served, { issued: first, more: [...more, ...logged] })
    const serials = async () => {
      const got = await Promise.all(Array.from({ length: 12 }, () => send(`${server.api}/version`)))
      return [...new Set(got.map(({ serial }) => serial))]
    }
    const lines = (pattern: RegExp) =>
      server
        .printed()
        .split('\n')
        .filter((line) => pattern.test(line))
    for (let tries = 0; tries < 100 && lines(/"worker":2,"requestId"/).length === 0; tries++) await serials()
    assert.deepEqual(await serials(), [serialOf(first)])
    const http = /redirects (http:\S+) to it/.exec(server.printed())![1]!
    const { status, headers } = await fetch(http, { redirect: 'manual' })
    assert.deepEqual([status, headers.get('location')], [301, `${server.origin}/`])

    server.replace(second)
    server.child.kill('SIGHUP')
    const reloaded = /is used from now on/
    await waitFor(() => lines(reloaded).length === 3)
    assert.equal(lines(reloaded).length, 3, 'in the supervisor and in both workers')
    assert.deepEqual(await serials(), [serialOf(second)])

    copyFileSync(first.key, server.files.key)
    server.child.kill('SIGHUP')
    const refused = /goes on with the certificate that it has/
    await waitFor(() => lines(refused).length > 0)
    assert.deepEqual(await serials(), [serialOf(second)])
    assert.equal(lines(refused).length, 1)
    assert.equal(await server.stop(), 0)
  })
})
