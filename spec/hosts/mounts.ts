import { createServer, type RequestListener } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import type { Allot } from '../../lib/index.ts'

/** A server of a host that has mounted Allot, before it listens. */
export interface Mounted {
  listener: RequestListener
  /** What its URLs begin with, before the base path. */
  prefix: string
}

type Mount = (allot: Pick<Allot, 'handler' | 'fetch'>) => Mounted | Promise<Mounted>

/** The listener of a server that a framework has made. */
const listenerOf = (server: { listeners(event: 'request'): unknown[] }): RequestListener =>
  server.listeners('request')[0] as RequestListener

/** Every way that docs/embedding.md shows to mount Allot in a host. */
export const mounts: Readonly<Record<string, Mount>> = {
  'node:http under a prefix': ({ handler }) => ({
    prefix: '/code',
    listener(req, res) {
      if (!req.url?.startsWith('/code/')) return void res.writeHead(404).end()
      Object.assign(req, { originalUrl: req.url, url: req.url.slice('/code'.length) })
      handler(req, res)
    },
  }),
  Express: ({ handler }) => ({ prefix: '/code', listener: express().use('/code', handler) }),
  Fastify: async ({ handler }) => {
    const app = fastify({
      serverFactory: (next) => createServer((req, res) => handler(req, res, () => next(req, res))),
    })
    await app.ready()
    return { prefix: '', listener: listenerOf(app.server) }
  },
  Koa: ({ handler }) => {
    const app = new Koa()
    app.use((context, next) => {
      context.respond = false
      return new Promise<void>((resolve, reject) => {
        context.res.once('close', resolve)
        handler(context.req, context.res, () => {
          context.respond = true
          next().then(resolve, reject)
        })
      })
    })
    return { prefix: '', listener: app.callback() as RequestListener }
  },
  Hono: ({ fetch }) => {
    const app = new Hono()
    app.all('*', (context) => fetch(context.req.raw))
    return { prefix: '', listener: listenerOf(createAdaptorServer({ fetch: app.fetch })) }
  },
}

/** The host that the specs of the API are to run in, when one is asked for: `ALLOT_SPEC_HOST=Express`. */
export const askedHost = (): Mount | undefined => {
  const name = process.env.ALLOT_SPEC_HOST
  if (name === undefined) return undefined
  const mount = mounts[name]
  if (mount === undefined)
    throw new Error(`ALLOT_SPEC_HOST=${name}: expected one of ${Object.keys(mounts).join(', ')}`)
  return mount
}
