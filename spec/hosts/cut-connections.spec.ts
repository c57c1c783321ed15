import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, readdirSync, readlinkSync } from 'node:fs'
import { connect as connectHttp2, createServer } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { before, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify, { type FastifyInstance } from 'fastify'
import { allotFastify } from '../../lib/fastify.ts'
import { type Allot, createAllot } from '../../lib/index.ts'
import { atEnd, once as onlyOnce } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { stopTimers } from '../support/stopped-timers.ts'
import { PATIENT } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { mounts } from './mounts.ts'

/** A request of a client that leaves. */
interface Sent {
  readonly method: string
  /** Below the prefix of the host. `PAGES` stands for the prefix of the pages. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The part of the body that arrives; undefined for a request without a body. */
  readonly body?: string | Buffer
}

interface Client {
  /** Resolves when the response has begun. */
  readonly begun: Promise<unknown>
  leave(): void
}

/** A host that has mounted Allot, and how its clients send. */
interface Host {
  readonly pages: string
  send(sent: Sent): Client
  stop(): Promise<void>
}

type Open = (allot: Allot) => Promise<Host>

const TOOL = '/api/packages/root/generic/tool/1'
const ARCHIVE = '/api/v1/repos/root/demo/archive/main.tar.gz'
const LENGTH = 2_000_000
const PAGES = { pages: '/storage' }
const COMMITTED = randomBytes(500_000).toString('base64')
const PART = '--x\r\nContent-Disposition: form-data; name="attachment"; filename="a"\r\n\r\n'
const body = (type: string, part: string | Buffer) => ({
  ...{ method: 'POST', headers: { 'content-type': type, 'content-length': `${LENGTH}` }, body: part },
})
const get = (path: string): Sent => ({ method: 'GET', path, headers: {} })

/** One for each way in which a body is read. */
const bodies: readonly Sent[] = [
  { path: '/api/v1/user/repos', ...body('application/json', '{"name":') },
  { path: `${TOOL}/b`, ...body('application/octet-stream', randomBytes(100_000)), method: 'PUT' },
  {
    path: '/api/v1/repos/root/demo/issues/1/assets',
    ...body('multipart/form-data; boundary=x', `${PART}${'a'.repeat(100_000)}`),
  },
  { path: 'PAGES/-/sign-in', ...body('application/x-www-form-urlencoded', 'form=') },
  { path: '/root/demo.git/git-receive-pack', ...body('application/x-git-receive-pack-request', '00') },
  { path: '/root/demo.git/git-upload-pack', ...body('application/x-git-upload-pack-request', '00') },
]

/** One for each way in which a response is made, and two that are sent before the body has arrived. */
const responses: readonly Sent[] = [
  get('/api/v1/version'),
  get('PAGES/-/sign-in'),
  get(`${TOOL}/a`),
  get('/api/v1/admin/export'),
  get(ARCHIVE),
  { path: '/api/v1/nothing', ...body('application/json', '{') },
  { path: '/api/v1/orgs', ...body('text/plain', '{') },
]

/** Lets a host do something of its own before it passes a request on. */
const delayed = (allot: Allot, pause: () => Promise<unknown>): Allot => {
  const late =
    (listener: Allot['handler']): Allot['handler'] =>
    (req, res, next) =>
      void pause().then(() => listener(req, res, next))
  return {
    ...allot,
    handler: late(allot.handler),
    pages: late(allot.pages),
    listener: (mount) => late(allot.listener(mount)),
    fetch: (request, options) => pause().then(() => allot.fetch(request, options)),
  }
}

const headOf = ({ method, path, headers }: Sent): string => {
  const lines = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

const overSocket =
  (port: number, first = '') =>
  (sent: Sent) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(first + headOf(sent))
    if (sent.body !== undefined) socket.write(sent.body)
    return { begun: once(socket, 'data'), leave: () => socket.destroy() }
  }

const overHttp2 = (port: number) => {
  return ({ method, path, headers, body: part }: Sent) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    session.on('error', () => undefined)
    const stream = session.request(
      { ':method': method, ':path': path, ...headers },
      { endStream: part === undefined },
    )
    stream.on('error', () => undefined)
    if (part !== undefined) stream.write(part)
    return { begun: once(stream, 'response'), leave: () => session.destroy() }
  }
}

/** The part of a body, of which no more arrives. */
const streamOf = (part: string | Buffer) =>
  new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from(part)) })

/** A caller of `allot.fetch` that aborts, or cancels the body of a response that has begun. */
const calling =
  (allot: Allot, doesCancel: boolean) =>
  ({ method, path, headers, body: part }: Sent): Client => {
    const controller = new AbortController()
    const payload = part === undefined ? {} : { body: streamOf(part), duplex: 'half' }
    const init = { method, headers, signal: controller.signal, ...payload }
    let reader: ReadableStreamDefaultReader | undefined
    const begun = allot.fetch(new Request(`http://x${path}`, init as RequestInit), PAGES).then((response) => {
      reader = response.body?.getReader()
      return reader?.read()
    })
    begun.catch(() => undefined)
    const leave = () => {
      if (!doesCancel || reader === undefined) return controller.abort()
      // As a server that waits for the next bytes.
      reader.read().catch(() => undefined)
      reader.cancel()
    }
    return { begun, leave }
  }

/** A caller of Fastify's `inject`. */
const injecting =
  (app: FastifyInstance) =>
  ({ method, path, headers, body: part }: Sent): Client => {
    const controller = new AbortController()
    const payload = part === undefined ? {} : { payload: Readable.fromWeb(streamOf(part) as ReadableStream) }
    const request = { method: method as 'GET', url: path, headers, signal: controller.signal, ...payload }
    const begun = app.inject({ ...request, payloadAsStream: true })
    begun.catch(() => undefined)
    return { begun, leave: () => controller.abort() }
  }

/** Each way in which a host passes requests on. */
const hosts: Readonly<Record<string, Open>> = {
  ...Object.fromEntries(
    Object.entries(mounts).map(([name, mount]): [string, Open] => [
      name,
      async (allot) => {
        const { listener, prefix, pages } = await mount(allot)
        const { port, stop } = await listen(listener)
        const send = overSocket(port)
        return { pages, stop, send: (sent) => send({ ...sent, path: prefix + sent.path }) }
      },
    ]),
  ),
  'node:http, behind a response that the host has not ended': async (allot) => {
    const listener = allot.listener(PAGES)
    const { port, stop } = await listen((req, res) => void (req.url === '/own' || listener(req, res)))
    const send = overSocket(port, headOf(get('/own')))
    return { ...PAGES, stop, send: (sent) => ({ ...send(sent), begun: sleep(20) }) }
  },
  'node:http2': async (allot) => {
    const server = createServer(allot.listener(PAGES) as never).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const stop = onlyOnce(async () => void (await new Promise((resolve) => server.close(resolve))))
    atEnd(stop)
    return { ...PAGES, stop, send: overHttp2((server.address() as AddressInfo).port) }
  },
  'allot.fetch, whose callers abort': async (allot) => ({
    ...{ ...PAGES, stop: async () => undefined, send: calling(allot, false) },
  }),
  'allot.fetch, whose callers cancel': async (allot) => ({
    ...{ ...PAGES, stop: async () => undefined, send: calling(allot, true) },
  }),
  'Fastify, by inject': async (allot) => {
    const app = fastify()
    await app.register(allotFastify, { allot, ...PAGES })
    return { ...PAGES, stop: () => app.close(), send: injecting(app) }
  },
}

/** After which a client that still sends is disconnected: that of lib/http/drain.ts. */
const DRAIN_MS = 3000
/** Longer than anything needs to end on a machine that is busy with others. */
const LEFT_MS = 5000

/** What is open in this process. Nothing is known of the descriptors where there is no /proc. */
const open = (): string[] => {
  const descriptors = process.platform === 'linux' ? readdirSync('/proc/self/fd') : []
  return [
    ...process.getActiveResourcesInfo().filter((kind) => !/Timeout|Immediate|MessagePort/.test(kind)),
    ...descriptors
      .flatMap(targetOf)
      .filter((target) => !/^(?:anon_inode|socket|pipe):|\/store\//.test(target)),
  ].sort()
}

const targetOf = (descriptor: string): string[] => {
  try {
    return [readlinkSync(`/proc/self/fd/${descriptor}`)]
  } catch {
    // That of the folder itself.
    return []
  }
}

/** What stays open once every git that was started has either ended or is kept idle. */
const openAtRest = async (): Promise<string[]> => {
  let [before, now] = [['not read yet'], open()]
  while (before.join() !== now.join()) {
    await sleep(200)
    ;[before, now] = [now, open()]
  }
  return now
}

const watchErrors = (t: TestContext): unknown[] => {
  const errors: unknown[] = []
  const note = (error: unknown) => void errors.push(error)
  const events = ['uncaughtException', 'unhandledRejection']
  for (const event of events) process.on(event, note)
  t.after(() => {
    for (const event of events) process.off(event, note)
  })
  return errors
}

describe('A client that leaves ends no process, and leaves nothing open', () => {
  let options: Parameters<typeof createAllot>[0]
  let authorization: string
  before(async () => {
    options = { ...PATIENT, contents: { processes: 1 }, data: temporaryDirectory() }
    const allot = await createAllot(options)
    authorization = `token ${(await allot.setUp({ admin: 'root' })).token}`
    const request = async (method: string, path: string, content: unknown) => {
      const isFile = Buffer.isBuffer(content)
      const headers = { authorization, ...(isFile ? {} : { 'content-type': 'application/json' }) }
      const sent = { method, headers, body: isFile ? content : JSON.stringify(content) }
      const { status } = await allot.fetch(new Request(`http://x${path}`, sent as RequestInit))
      assert.equal(status, 201, path)
    }
    await request('POST', '/api/v1/user/repos', { name: 'demo' })
    const file = { content: COMMITTED, message: 'one', branch: 'main' }
    await request('POST', '/api/v1/repos/root/demo/contents/a', file)
    await request('POST', '/api/v1/repos/root/demo/issues', { title: 'one' })
    await request('PUT', `${TOOL}/a`, randomBytes(LENGTH))
    await allot.close()
  })

  for (const [name, openHost] of Object.entries(hosts))
    it(`in ${name}`, async (t) => {
      const pass = stopTimers(t, 'lib/http/drain')
      const errors = watchErrors(t)
      const atStart = open()
      const data = temporaryDirectory()
      cpSync(options.data!, data, { recursive: true })
      const allot = await createAllot({ ...options, data })
      const closed = onlyOnce(() =>
        Promise.race([allot.close(), sleep(LEFT_MS, 'close has not ended', { ref: false })]),
      )
      t.after(closed)
      const paused: (() => void)[] = []
      let isPaused = false
      let passedOn = 0
      const pause = async () => {
        if (isPaused) await new Promise<void>((resolve) => paused.push(resolve))
        passedOn++
      }
      const { pages, send, stop } = await openHost(delayed(allot, pause))
      const arriving = ({ path, headers, ...sent }: Sent) =>
        send({ ...sent, path: path.replace('PAGES', pages), headers: { ...headers, authorization } })
      const assertNothingLeft = async (before: readonly string[]) => {
        pass(DRAIN_MS)
        for (let waited = 0; waited < LEFT_MS && open().length > before.length; waited += 10) await sleep(10)
        const now = open()
        if (now.length > before.length) assert.deepEqual(now, before)
        assert.deepEqual(errors, [])
      }
      // Allot keeps a git that has read contents.
      await (
        await allot.fetch(new Request(`http://x${ARCHIVE}`, { headers: { authorization } }))
      ).arrayBuffer()
      const atRest = await openAtRest()

      for (const sent of responses) {
        const { begun, leave } = arriving(sent)
        await begun
        leave()
      }
      await assertNothingLeft(atRest)

      for (const sent of bodies) {
        const before = passedOn
        const { leave } = arriving(sent)
        await waitFor(() => passedOn > before)
        // Until the body is being read.
        await sleep(10)
        leave()
      }
      await assertNothingLeft(atRest)

      isPaused = true
      for (const sent of [...bodies, ...responses]) {
        const { leave } = arriving(sent)
        await waitFor(() => paused.length > 0)
        leave()
        await sleep(5)
        paused.shift()!()
      }
      await assertNothingLeft(atRest)

      assert.equal(await closed(), undefined)
      await stop()
      await assertNothingLeft(atStart)
    })
})
