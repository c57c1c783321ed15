import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { attempt } from '../../git/client.ts'
import { temporaryDirectory } from '../../support/folder.ts'

/*
 * The process of a well-behaved client: reads its quota 50 times a second without waiting for answers, and
 * clones a small repository repeatedly. At the end it prints how long each took.
 */
const { base, path, token, clone, seconds } = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as {
  base: string
  path: string
  token: string
  clone: string
  seconds: number
}
const INTERVAL_MS = 20
const TIMEOUT_MS = 30_000

const agent = new Agent({ keepAlive: true })
const { hostname: host, port } = new URL(base)
const end = performance.now() + seconds * 1000

export interface Measurement {
  /** Milliseconds, sorted. */
  times: number[]
  /** Requests without an answer or with another status than 200. */
  failed: number
  /** Seconds of each clone. */
  clones: number[]
  clonesFailed: number
}
const measured: Measurement = { times: [], failed: 0, clones: [], clonesFailed: 0 }

const ask = (): Promise<void> =>
  new Promise((resolve) => {
    const start = performance.now()
    const headers = { authorization: `token ${token}` }
    const done = (isOk: boolean) => {
      measured.times.push(performance.now() - start)
      if (!isOk) measured.failed++
      resolve()
    }
    const req = request({ host, port, agent, path, headers, timeout: TIMEOUT_MS }, (res) =>
      res.resume().once('end', () => done(res.statusCode === 200)),
    )
    req.once('timeout', () => req.destroy(new Error('timeout')))
    req.once('error', () => done(false))
    req.end()
  })

const readQuotas = async (): Promise<void> => {
  const requests: Promise<void>[] = []
  for (let next = performance.now(); next < end; next += INTERVAL_MS) {
    await sleep(Math.max(0, next - performance.now()))
    requests.push(ask())
  }
  await Promise.all(requests)
}

const cloneRepeatedly = async (): Promise<void> => {
  do {
    const start = performance.now()
    const { code } = await attempt(temporaryDirectory(), ['clone', '--quiet', clone, '.'])
    measured.clones.push((performance.now() - start) / 1000)
    if (code !== 0) measured.clonesFailed++
    await sleep(200)
  } while (performance.now() < end)
}

await Promise.all([readQuotas(), cloneRepeatedly()])
measured.times.sort((left, right) => left - right)
process.stdout.write(`${JSON.stringify(measured)}\n`)
process.exit()
