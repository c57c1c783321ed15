import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { attempt } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'

/*
 * The process of a client that does nothing wrong: it reads its quota 50 times a second, whether or not the answer before
 * has come, and clones a small repository again and again. At the end it prints how long that took.
 */
const { base, path, token, clone, seconds } = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as {
  base: string
  path: string
  token: string
  clone: string
  seconds: number
}
/** Milliseconds. */
const [INTERVAL, TIMEOUTS] = [20, 30_000]

const agent = new Agent({ keepAlive: true })
const { hostname: host, port } = new URL(base)
const until = performance.now() + seconds * 1000

export interface Measurement {
  /** Milliseconds, sorted. */
  times: number[]
  /** How many requests had another answer than 200, or none. */
  failed: number
  /** Seconds of each clone, and how many failed. */
  clones: number[]
  clonesFailed: number
}
const measured: Measurement = { times: [], failed: 0, clones: [], clonesFailed: 0 }

const ask = (): Promise<void> =>
  new Promise((resolve) => {
    const begun = performance.now()
    const headers = { authorization: `token ${token}` }
    const done = (isGood: boolean) => {
      measured.times.push(performance.now() - begun)
      if (!isGood) measured.failed++
      resolve()
    }
    const req = request({ host, port, agent, path, headers, timeout: TIMEOUTS }, (res) =>
      res.resume().once('end', () => done(res.statusCode === 200)),
    )
    req.once('timeout', () => req.destroy(new Error('too late')))
    req.once('error', () => done(false))
    req.end()
  })

const readQuotas = async (): Promise<void> => {
  const asked: Promise<void>[] = []
  for (let next = performance.now(); next < until; next += INTERVAL) {
    await sleep(Math.max(0, next - performance.now()))
    asked.push(ask())
  }
  await Promise.all(asked)
}

const cloneRepeatedly = async (): Promise<void> => {
  do {
    const begun = performance.now()
    const { code } = await attempt(temporaryDirectory(), ['clone', '--quiet', clone, '.'])
    measured.clones.push((performance.now() - begun) / 1000)
    if (code !== 0) measured.clonesFailed++
    await sleep(200)
  } while (performance.now() < until)
}

await Promise.all([readQuotas(), cloneRepeatedly()])
measured.times.sort((one, other) => one - other)
process.stdout.write(`${JSON.stringify(measured)}\n`)
process.exit()
