import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type Allot, createAllot } from './allot.ts'
import { invalidMember } from './errors.ts'
import type { AllotOptions } from './options/index.ts'

/*
 * The Fastify plugin, `allot/fastify`. Its routes are in a context of their own, in which Fastify parses no
 * bodies: Allot reads them itself, git pushes and uploads as streams. Hooks of the application run before,
 * and its headers are kept.
 */

/** Options of the plugin. */
export interface AllotFastifyOptions {
  /**
   * An Allot, which the application closes. Or the options to open one, as for `createAllot`: it is in
   * `app.allot` then, and the plugin closes it with the application.
   */
  allot: Allot | AllotOptions
  /**
   * Path below which everything is served, such as `/code`: the API is at `/code/api/v1` then. The root when
   * absent.
   */
  prefix?: string
  /**
   * Path of the pages below `prefix`, such as `/storage`; `/` for the root. No pages are served when absent.
   */
  pages?: string | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The Allot of the first `allotFastify` that was registered. */
    allot: Allot
  }
}

/**
 * Serves the API, git and the pages in a Fastify application:
 * `await app.register(allotFastify, { allot, pages: '/storage' })`. Requests for other paths get the
 * not-found handler of the application.
 */
export const allotFastify: FastifyPluginAsync<AllotFastifyOptions> = async (app, options) => {
  const { allot: given, prefix = '', pages } = options
  if (typeof given !== 'object' || given === null)
    throw invalidMember(
      'allot',
      'pass an Allot, or the options to open one: app.register(allotFastify, { allot })',
    )
  const isOpen = 'handler' in given
  const allot = isOpen ? given : await createAllot(given)
  if (!isOpen) app.addHook('onClose', () => allot.close())
  if (!app.hasDecorator('allot')) app.decorate('allot', allot)
  await app.register(routes, { prefix, pages, allot })
}

/**
 * Fastify's own names for: run in the context of the caller, so that it gets the decorator; the name in
 * messages.
 */
Object.assign(allotFastify, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'allot',
})

interface RouteOptions {
  allot: Allot
  pages: string | undefined
}

const routes: FastifyPluginAsync<RouteOptions> = async (app, { allot, pages }) => {
  const listener = allot.listener({ prefix: app.prefix, pages })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, leaveUnread) => leaveUnread(null))
  const serve = (request: FastifyRequest, reply: FastifyReply): void => {
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value)
    let isPassedOn = false
    const mayPassOn = request.method === 'GET' || request.method === 'HEAD'
    const release = mayPassOn ? hijackAtHead(reply) : undefined
    listener(request.raw, reply.raw, () => {
      isPassedOn = true
      release?.()
      reply.callNotFound()
    })
    if (!mayPassOn && !isPassedOn) reply.hijack()
  }
  app.all('/*', serve)
  if (app.prefix !== '' && pages === '/') app.all('', serve)
}

/**
 * Takes the response from Fastify when it begins: whether a page of a person or a repository exists is known
 * only after reads, and the application answers for pages that do not exist. From then on no timeout of
 * Fastify ends a long download.
 * @returns what leaves the response to Fastify
 */
const hijackAtHead = (reply: FastifyReply): (() => void) => {
  const { raw } = reply
  const { writeHead } = raw
  const release = () => {
    raw.writeHead = writeHead
  }
  raw.writeHead = ((...args: Parameters<typeof writeHead>) => {
    release()
    reply.hijack()
    return writeHead.apply(raw, args)
  }) as typeof writeHead
  return release
}
