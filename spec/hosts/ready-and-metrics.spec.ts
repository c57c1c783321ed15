import assert from 'node:assert/strict'
import { hasSubscribers } from 'node:diagnostics_channel'
import type { RequestListener } from 'node:http'
import { describe, it } from 'node:test'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { Registry } from 'prom-client'
import { memory } from '../../drivers/memory/index.ts'
import { type Allot, createAllot } from '../../lib/index.ts'
import { READY_INTERVAL_MS, type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { listen } from '../support/listen.ts'
import { listenerOf } from './mounts.ts'

type Host = (allot: Allot, registry: Registry) => RequestListener | Promise<RequestListener>

/** Hosts with routes of their own beside Allot. */
const hosts: Readonly<Record<string, Host>> = {
  'node:http': (allot, registry) => async (req, res) => {
    if (req.url === '/ready') return void res.writeHead((await allot.ready()) ? 200 : 503).end()
    if (req.url === '/metrics') return void res.end(await registry.metrics())
    allot.handler(req, res)
  },
  Express: (allot, registry) =>
    express()
      .get('/ready', async (_req, res) => void res.sendStatus((await allot.ready()) ? 200 : 503))
      .get('/metrics', async (_req, res) => void res.send(await registry.metrics())),
  Fastify: async (allot, registry) => {
    const app = fastify()
    app.get('/ready', async (_req, reply) => reply.code((await allot.ready()) ? 200 : 503).send())
    app.get('/metrics', () => registry.metrics())
    await app.ready()
    return listenerOf(app.server)
  },
  Hono: (allot, registry) => {
    const app = new Hono()
    app.get('/ready', async (context) => context.body(null, (await allot.ready()) ? 200 : 503))
    app.get('/metrics', async (context) => context.text(await registry.metrics()))
    return listenerOf(createAdaptorServer({ fetch: app.fetch }))
  },
}

/** A store that can go away. */
const breakable = () => {
  const store = memory()
  const outage = { isOn: false }
  const away = () => Promise.reject(new StorageError('away', 'the database cannot be reached'))
  const driver: StorageDriver = {
    ...store,
    read: (body) => (outage.isOn ? away() : store.read(body)),
    write: (body) => (outage.isOn ? away() : store.write(body)),
  }
  return { driver, outage }
}

const quiet = { error: () => undefined, info: () => undefined }

describe('A host', () => {
  for (const [name, host] of Object.entries(hosts))
    it(`has allot.ready() and allot.metrics() in routes of its own, in ${name}`, async () => {
      const { driver, outage } = breakable()
      const quota = { defaultTotal: 100 }
      const allot = await createAllot({ driver, repositories: false, quota, log: quiet })
      const registry = new Registry()
      await allot.metrics(registry)
      const { origin } = await listen(await host(allot, registry))
      const isReady = async () => {
        const { status } = await fetch(`${origin}/ready`)
        await new Promise((resolve) => setTimeout(resolve, READY_INTERVAL_MS + 50))
        return status === 200
      }
      const samples = async () => {
        const response = await fetch(`${origin}/metrics`)
        const lines = (await response.text())
          .split('\n')
          .filter((line) => /^allot_(?:bytes|owners)/.test(line))
        return [response.status, ...lines.filter((line) => !line.endsWith(' 0'))]
      }
      for (const [owner, size] of Object.entries({ within: 20, near: 99, over: 101 })) {
        await allot.accounts.createUser({ name: owner })
        await allot.ledger.put({ kind: 'artifacts', key: owner, owner, name: 'a', size })
      }
      assert.equal(await isReady(), true)
      assert.deepEqual(await samples(), [
        200,
        'allot_bytes{subject="size:assets:artifacts"} 220',
        'allot_owners{quota="over"} 1',
        'allot_owners{quota="near"} 1',
        'allot_owners{quota="within"} 1',
      ])
      outage.isOn = true
      assert.deepEqual([await isReady(), await samples()], [false, [200]])
      outage.isOn = false
      assert.equal(await isReady(), true)
      assert.equal((await samples()).length, 5)
      await allot.close()
      assert.equal(await isReady(), false)
    })

  it('gets an error for what is not a registry, or has the metrics of another Allot', async () => {
    const allot = await createAllot({ driver: memory(), repositories: false })
    await assert.rejects(allot.metrics({} as never), {
      code: 'invalid',
      message: /^registry: expected a registry/,
    })
    const registry = new Registry()
    await allot.metrics(registry)
    await assert.rejects(allot.metrics(registry), { code: 'conflict' })
    await allot.metrics(new Registry())
    assert.equal(hasSubscribers('lru-cache:metrics'), true)
    await allot.close()
    assert.equal(hasSubscribers('lru-cache:metrics'), false)
    assert.equal(await allot.ready(), false)
  })

  it('that has closed its Allot leaves no subscription when it asks for metrics', async () => {
    const allot = await createAllot({ driver: memory(), repositories: false })
    await allot.close()
    await allot.metrics(new Registry())
    assert.equal(hasSubscribers('lru-cache:metrics'), false)
  })
})
