import type { RequestListener } from 'node:http'
import Fastify from 'fastify'
import { level } from '../../../drivers/level/index.ts'
import { type OpenAllot, openAllot } from '../../../lib/allot.ts'

type Listen = (listener: RequestListener, told: object) => void

/** Over a store that is filled already. Owners have fewer things the higher their number is. */
export const instance = async (listen: Listen, store: string, people: number): Promise<void> => {
  const allot = await openAllot({ driver: level(store), repositories: false })
  const tokens = { largest: await tokenOf(allot, 1), smallest: await tokenOf(allot, people) }
  const own = await fastify(allot, tokens.largest)
  listen((req, res) => (req.url?.startsWith('/fastify/') ? own(req, res) : allot.handler(req, res)), tokens)
}

/** The administrator's scopes do not matter here. */
const tokenOf = async ({ hosting }: OpenAllot, account: number): Promise<string> =>
  (await hosting.tokens.create(account, `bench ${Date.now()} ${Math.random()}`, ['all'])).secret

/** A host with Fastify, a map of tokens, and the quota in process. */
const fastify = async (allot: OpenAllot, token: string): Promise<RequestListener> => {
  const names = new Map([[`token ${token}`, 'user-1']])
  const app = Fastify()
  app.get('/fastify/quota', async (request, reply) => {
    const name = names.get(request.headers.authorization ?? '')
    if (name === undefined) return reply.code(401).send({ message: 'token is required' })
    return allot.quota.info(name)
  })
  await app.ready()
  return (req, res) => app.routing(req, res)
}
