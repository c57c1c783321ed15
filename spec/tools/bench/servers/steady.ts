import { connect, type Socket } from 'node:net'

/**
 * Sends GET at a fixed rate, `node steady.js PORT PATH TOKEN RATE SECONDS`, and prints p50, p99 and p99.9 in
 * milliseconds as JSON. A latency counts from when the request was due, so a server that stops for a moment
 * cannot hide the requests that waited. It writes prepared bytes to sockets, and at high rates polls without
 * sleeping, so that a timer of a millisecond delays nothing.
 */
const [port, path, token, rate, seconds] = process.argv.slice(2)
const CONNECTIONS = 32
const GAP_MS = 1000 / Number(rate)
/** At a low rate a timer is exact enough, and leaves its core to the server. */
const MAX_TIMED_RATE = 1000
/** Requests of the first tenth warm up and are not counted. */
const [TOTAL, WARM_UP] = [Number(rate) * Number(seconds), (Number(rate) * Number(seconds)) / 10]
const REQUEST = Buffer.from(
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: token ${token}\r\n\r\n`,
)
const END_OF_HEAD = '\r\n\r\n'

interface Connection {
  socket: Socket
  dueAt: number
  received: Buffer
}

const idle: Connection[] = []
const latencies: number[] = []
let [sent, answered] = [0, 0]

const fail = (words: string): never => {
  process.stderr.write(`${path}: ${words}\n`)
  process.exit(1)
}

/** Bytes of a whole response; undefined while its head is incomplete. */
const lengthOf = (bytes: Buffer): number | undefined => {
  const end = bytes.indexOf(END_OF_HEAD)
  if (end === -1) return undefined
  const head = bytes.toString('latin1', 0, end)
  if (!head.startsWith('HTTP/1.1 200')) fail(head)
  return end + END_OF_HEAD.length + Number(/content-length: (\d+)/i.exec(head)![1])
}

const receive = (connection: Connection, chunk: Buffer): void => {
  const bytes = connection.received.length === 0 ? chunk : Buffer.concat([connection.received, chunk])
  const length = lengthOf(bytes)
  connection.received = bytes
  if (length === undefined || bytes.length < length) return
  connection.received = Buffer.alloc(0)
  if (answered++ >= WARM_UP) latencies.push(performance.now() - connection.dueAt)
  idle.push(connection)
}

const open = (): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      idle.push(connection)
      resolve()
    })
    const connection: Connection = { socket, dueAt: 0, received: Buffer.alloc(0) }
    socket.setNoDelay(true)
    socket.on('data', (chunk) => receive(connection, chunk))
    socket.on('error', (error) => fail(error.message))
  })

await Promise.all(Array.from({ length: CONNECTIONS }, open))
const begun = performance.now()

const send = (): void => {
  while (sent < TOTAL && idle.length > 0) {
    const dueAt = begun + sent * GAP_MS
    if (dueAt > performance.now()) break
    sent++
    const connection = idle.pop()!
    connection.dueAt = dueAt
    connection.socket.write(REQUEST)
  }
  if (answered === TOTAL) finish()
  else if (Number(rate) > MAX_TIMED_RATE) setImmediate(send)
  else setTimeout(send, 1)
}

const finish = (): void => {
  latencies.sort((one, other) => one - other)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)]!
  process.stdout.write(JSON.stringify({ p50: at(0.5), p99: at(0.99), p999: at(0.999) }))
  process.exit()
}

send()
