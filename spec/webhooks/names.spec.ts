import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { getServers, setServers } from 'node:dns'
import { once } from 'node:events'
import { before, it } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { hookTo, type Receiver, startReceiver } from '../support/receiver.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

let allot: TestServer
let receiver: Receiver
/** Names that the name server was asked for. It answers those below `.example` only. */
const asked = new Set<string>()

/** The one name with an address, which is not public. */
const INTERNAL = 'internal.example'

/** The name of the question, and where the question ends (RFC 1035 §4.1). */
const questionIn = (query: Buffer) => {
  const labels: string[] = []
  let at = 12
  for (; query[at] !== 0; at += 1 + query[at]!)
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!))
  return { name: labels.join('.'), isIPv4: query.readUInt16BE(at + 1) === 1, end: at + 5 }
}

/** `10.0.0.1` for the internal name, and for others that they do not exist. */
const answerTo = (query: Buffer): Buffer | undefined => {
  const { name, isIPv4, end } = questionIn(query)
  asked.add(name)
  if (!name.endsWith('.example')) return undefined
  const hasAddress = name === INTERNAL && isIPv4
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(name === INTERNAL ? 0x8180 : 0x8183, 2)
  for (const [index, count] of [1, hasAddress ? 1 : 0, 0, 0].entries())
    header.writeUInt16BE(count, 4 + 2 * index)
  const address = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 10, 0, 0, 1])
  return Buffer.concat([header, query.subarray(12, end), ...(hasAddress ? [address] : [])])
}

before(async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  socket.on('message', (query, { port, address }) => {
    const answer = answerTo(query)
    if (answer !== undefined) socket.send(answer, port, address)
  })
  await once(socket, 'listening')
  const servers = getServers()
  setServers([`127.0.0.1:${socket.address().port}`])
  atEnd(() => {
    setServers(servers)
    socket.close()
  })
  receiver = await startReceiver()
  allot = await start({ repositories: false, webhooks: { allowedHosts: ['127.0.0.1'], timeout: 60_000 } })
})

/** @returns the path of a new webhook, which has been sent a test */
const tested = async (who: Person, url: string): Promise<string> => {
  const { id } = await allot.made(who, '/user/hooks', hookTo(url, 'push'))
  assert.equal((await allot.as(who, 'POST', `/user/hooks/${id}/tests`)).status, 204)
  return `/user/hooks/${id}`
}

const deliveryOf = async (who: Person, hook: string) =>
  (await allot.as(who, 'GET', `${hook}/deliveries/1`)).body

it('Names whose server does not answer delay only the deliveries to them', async () => {
  const [alice, bob] = [await allot.person(), await allot.person()]
  const names = Array.from({ length: 20 }, (_, index) => `silent${index}.test`)
  const hooks: string[] = []
  for (const name of names) hooks.push(await tested(alice, `http://${name}/`))
  await waitFor(() => names.every((name) => asked.has(name)))
  await tested(bob, `${receiver.url.replace('127.0.0.1', 'localhost')}/other`)
  await receiver.at('/other', 1)
  const [last] = hooks.slice(-1)
  assert.equal((await deliveryOf(alice, last!)).status, 'waiting')
})

it('The error of a delivery does not tell a name with a refused address from one that does not exist', async () => {
  const alice = await allot.person()
  const errors: string[] = []
  for (const name of [INTERNAL, 'missing.example']) {
    const hook = await tested(alice, `http://${name}/`)
    await waitFor(async () => (await deliveryOf(alice, hook)).attempts > 0)
    assert.ok(asked.has(name))
    errors.push((await deliveryOf(alice, hook)).error.replace(name, 'NAME'))
  }
  assert.match(errors[0]!, /^NAME does not exist, or its address is not allowed: /)
  assert.equal(errors[0], errors[1])
})
