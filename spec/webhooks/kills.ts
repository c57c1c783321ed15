import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { allot, type Served, served } from '../bin/program.ts'
import { hookTo, type Receiver, startReceiver } from '../support/receiver.ts'
import { createSender } from '../support/request.ts'
import { seededRandom } from '../support/seed.ts'
import { waitFor } from '../support/wait-for.ts'
import { UsageWriter } from './usage-writer.ts'

interface KillOptions {
  /** Deliveries that the server must have recorded at least. */
  readonly deliveries: number
  /** Times that the server is killed meanwhile. */
  readonly kills: number
  /** Folder of the server. */
  readonly data: string
  readonly onProgress?: (done: { kills: number; acknowledged: number; received: number }) => void
}

export interface KillResult {
  readonly kills: number
  /** Issues whose creation was acknowledged. */
  readonly acknowledged: number
  /** Deliveries that the receiver got, repetitions included. */
  readonly received: number
  readonly repeated: number
  readonly faults: string[]
}

const CLIENTS = 8
const REPOSITORY = '/repos/alice/app'
const PATHS = ['/one', '/two']

/**
 * Kills a server again and again while clients open issues and two webhooks get them, and usage crosses a
 * limit back and forth, which a third one gets. The receiver fails now and then. Every acknowledged issue
 * must reach both webhooks, every passing the third one, and the first deliveries must be in the order of the
 * changes.
 */
export const killAmidDeliveries = async (options: KillOptions): Promise<KillResult> => {
  const { deliveries, kills, data, onProgress } = options
  const random = seededRandom()
  const receiver = await startReceiver((_, res) => void res.writeHead(random() < 0.002 ? 503 : 200).end())
  const { out } = await allot(['user', 'add', 'alice', '--admin', '--token', '--data', data])
  const token = out.trim()
  const acknowledged = new Set<number>()
  const start = () => served(['--data', data, '--config', configIn(data)])
  let server = await start()
  await prepare(server, token, receiver.url)
  const usage = new UsageWriter(receiver.url, token)
  await usage.prepare(server.api)
  const each = Math.ceil(deliveries / PATHS.length)
  for (let killed = 0; killed < kills; ) {
    const goal = Math.ceil((each * (killed + 1)) / kills)
    const isOver = () => acknowledged.size >= goal
    const clients = Array.from({ length: CLIENTS }, () => openIssues(server, token, acknowledged, isOver))
    const writing = usage.write(server.api)
    // Amid the writes of the clients, which go on until the server is gone.
    await waitFor(isOver)
    await server.stop('SIGKILL')
    await Promise.all([...clients, writing])
    killed++
    onProgress?.({ kills: killed, acknowledged: acknowledged.size, received: receiver.received.length })
    server = await start()
  }
  await usage.recount(server.api)
  await drained(receiver, acknowledged, usage)
  await server.stop()
  const ofIssues = PATHS.flatMap((path) => faultsAt(receiver, path, acknowledged))
  const faults = [...ofIssues, ...usage.faultsIn(receiver.received)]
  const received = receiver.received.length
  const distinct = new Set(receiver.received.map((one) => one.path + one.headers['x-gitea-delivery']))
  await receiver.stop()
  return { kills, acknowledged: acknowledged.size, received, repeated: received - distinct.size, faults }
}

const configIn = (data: string): string => {
  const file = `${data}.toml`
  writeFileSync(file, '[webhooks]\nallowed_hosts = ["127.0.0.1"]\n[repositories]\n')
  return file
}

const prepare = async (server: Served, token: string, url: string): Promise<void> => {
  const send = createSender(server.api)
  await send('POST', '/user/repos', { token, body: { name: 'app' } })
  for (const path of PATHS)
    await send('POST', `${REPOSITORY}/hooks`, { token, body: hookTo(url + path, 'issues') })
}

/** Opens issues until it is over, or the server is gone. */
const openIssues = async (
  server: Served,
  token: string,
  acknowledged: Set<number>,
  isOver: () => boolean,
): Promise<void> => {
  const send = createSender(server.api)
  for (;;)
    try {
      const answer = await send('POST', `${REPOSITORY}/issues`, { token, body: { title: 'An issue' } })
      if (answer.status !== 201) throw new Error(answer.text)
      acknowledged.add(answer.body.number)
    } catch (error) {
      if (isOver()) return
      throw error
    }
}

const numbersAt = (receiver: Receiver, path: string): number[] =>
  receiver.received.filter((one) => one.path === path).map(({ body }) => body.number)

/** Waits until the receiver has got everything, or gets nothing more for ten seconds. */
const drained = async (
  receiver: Receiver,
  acknowledged: ReadonlySet<number>,
  usage: UsageWriter,
): Promise<void> => {
  // Not by their count: issues that were committed and not acknowledged arrive, too.
  const hasAllAt = (path: string): boolean => {
    const got = new Set(numbersAt(receiver, path))
    return [...acknowledged].every((number) => got.has(number))
  }
  const hasIssues = () => PATHS.every(hasAllAt)
  const hasAll = () => hasIssues() && usage.faultsIn(receiver.received).length === 0
  let [before, idle] = [-1, 0]
  while (idle < 40 && !hasAll()) {
    await sleep(250)
    idle = receiver.received.length === before ? idle + 1 : 0
    before = receiver.received.length
  }
  // For repetitions, which follow at once.
  await sleep(500)
}

/** Lost events, and events that came after a later one. */
const faultsAt = (receiver: Receiver, path: string, acknowledged: ReadonlySet<number>): string[] => {
  const numbers = numbersAt(receiver, path)
  const got = new Set(numbers)
  const faults = [...acknowledged]
    .filter((number) => !got.has(number))
    .map((one) => `${path}: issue ${one} is lost`)
  let last = 0
  for (const number of got) {
    if (number < last) faults.push(`${path}: issue ${number} came after ${last}`)
    last = number
  }
  return faults
}
