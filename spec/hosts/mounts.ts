import type { RequestListener } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { allotFastify } from '../../lib/fastify.ts'
import type { Allot } from '../../lib/index.ts'

/** A server of a host that has mounted Allot, before it listens. */
export interface Mounted {
  listener: RequestListener
  /** Prefix of its URLs, before the base path. */
  prefix: string
  /** Prefix of the URLs of its pages, after the first prefix. */
  pages: string
}

export type Mount = (allot: Allot) => Mounted | Promise<Mounted>

/** The listener of a server that a framework has made. */
export const listenerOf = (server: { listeners(event: 'request'): unknown[] }): RequestListener =>
  server.listeners('request')[0] as RequestListener

/** Every way that docs/embedding.md shows to mount Allot in a host. */
export const mounts: Readonly<Record<string, Mount>> = {
  'node:http under a prefix': (allot) => {
    const paths = { prefix: '/code', pages: '/storage' }
    return { ...paths, listener: allot.listener(paths) }
  },
  Express: ({ handler, pages }) => ({
    prefix: '/code',
    pages: '/storage',
    listener: express().use('/code/storage', pages).use('/code', handler),
  }),
  Fastify: async (allot) => {
    const app = fastify()
    const paths = { prefix: '/code', pages: '/storage' }
    await app.register(allotFastify, { allot, ...paths })
    await app.ready()
    return { ...paths, listener: listenerOf(app.server) }
  },
  Koa: (allot) => {
    const app = new Koa()
    // Otherwise it prints each connection that is cut.
    app.silent = true
    const listener = allot.listener({ pages: '/storage' })
    app.use((context, next) => {
      context.respond = false
      return new Promise<void>((resolve, reject) => {
        context.res.once('close', resolve)
        listener(context.req, context.res, () => {
          context.respond = true
          next().then(resolve, reject)
        })
      })
    })
    return { prefix: '', pages: '/storage', listener: app.callback() as RequestListener }
  },
  Hono: ({ fetch }) => {
    const app = new Hono()
    const paths = { prefix: '/code', pages: '/storage' }
    app.all('/code/*', (context) => fetch(context.req.raw, paths))
    return { ...paths, listener: listenerOf(createAdaptorServer({ fetch: app.fetch })) }
  },
}
