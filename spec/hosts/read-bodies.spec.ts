import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { describe, it } from 'node:test'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { Allot } from '../../lib/index.ts'
import { start } from '../support/test-server.ts'
import { listenerOf } from './mounts.ts'

/** Hosts that read the bodies of requests, and keep nothing of them where Allot could find it. */
const readers: Readonly<Record<string, (allot: Allot) => Promise<RequestListener>>> = {
  'a Fastify route': async ({ handler }) => {
    const app = fastify()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null))
    app.all('/*', (request, reply) => {
      reply.hijack()
      handler(request.raw, reply.raw)
    })
    await app.ready()
    return listenerOf(app.server)
  },
  'a middleware of Express': async ({ handler }) =>
    express()
      .use(async (req, _res, next) => {
        for await (const _chunk of req);
        next()
      })
      .use(handler),
}

const FILE = ['--x', 'Content-Disposition: form-data; name="attachment"; filename="a"', '', 'a', '--x--', '']

/** Requests whose bodies Allot reads in different ways. */
const requests: Readonly<Record<string, () => [path: string, RequestInit]>> = {
  'a JSON object': () => ['/api/v1/user/repos', jsonOf({ name: 'demo' })],
  'a package': () => ['/api/packages/root/generic/tool/1/a', { method: 'PUT', body: 'content' }],
  'an upload': () => [
    '/api/v1/repos/root/demo/issues/1/assets',
    {
      method: 'POST',
      body: FILE.join('\r\n'),
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    },
  ],
}

const jsonOf = (body: object): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
})

const SENTENCE =
  /the server read the request body before Allot: mount Allot before body parsers, in Fastify with allot\/fastify/

describe('A request body that the host has read', () => {
  for (const [host, listenerFor] of Object.entries(readers))
    for (const [kind, request] of Object.entries(requests))
      it(`is answered 500 with the reason, which is logged too: ${kind} in ${host}`, async () => {
        const logged: string[] = []
        const server = await start(
          { log: { error: (_fields, message) => void logged.push(message), info: () => undefined } },
          { host: async (allot) => ({ listener: await listenerFor(allot), prefix: '', pages: '' }) },
        )
        const { root } = server
        const [path, init] = request()
        const headers = { ...init.headers, authorization: `token ${root.token}` }
        const answer = await fetch(server.base + path, { ...init, headers })
        assert.equal(answer.status, 500)
        assert.match(await answer.text(), SENTENCE)
        assert.match(logged.join(), SENTENCE)
      })

  it('makes allot.fetch reject with the reason', async () => {
    const server = await start({ repositories: false })
    const app = new Hono()
    app.use(async (context, next) => {
      await context.req.json()
      await next()
    })
    app.all('*', (context) => server.allot.fetch(context.req.raw))
    const messages: string[] = []
    app.onError(({ message }, context) => {
      messages.push(message)
      return context.text('failed', 500)
    })
    await app.request('/api/v1/user/repos', jsonOf({ name: 'demo' }))
    assert.match(messages.join(), SENTENCE)
  })
})
