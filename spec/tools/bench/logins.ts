import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Bench, type Latency, type Measurement, median } from './report/measure.ts'
import { API, latencyAt, type Program, post, program } from './servers/program.ts'

const [LOGINS_PER_SECOND, REQUESTS_PER_SECOND] = [20, 500]
/**
 * As many as there are logins in one measurement: a password that was verified is not hashed again for a
 * while.
 */
const ACCOUNTS = 60
const PASSWORD = 'correct horse battery'

/**
 * From an address of its own, as the clients of a server have: one client gets half of the derivations at
 * most.
 * @returns the status
 */
const logIn = ({ port }: Program, name: string, number: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const authorization = `Basic ${Buffer.from(`${name}:${PASSWORD}`).toString('base64')}`
    const options = { host: '127.0.0.1', port, path: `${API}/user`, headers: { authorization } }
    get({ ...options, agent: false, localAddress: `127.0.1.${1 + (number % 250)}` }, (res) => {
      res.resume()
      resolve(res.statusCode!)
    }).once('error', reject)
  })

/** @returns how many were refused, since too many waited */
const logInAll = async (served: Program, names: readonly string[]): Promise<number> => {
  const logins: Promise<number>[] = []
  for (const [number, name] of names.entries()) {
    logins.push(logIn(served, name, number))
    await setTimeout(1000 / LOGINS_PER_SECOND)
  }
  const statuses = await Promise.all(logins)
  const wrong = statuses.find((status) => status !== 200 && status !== 503)
  if (wrong !== undefined) throw new Error(`a login was answered ${wrong}`)
  return statuses.filter((status) => status === 503).length
}

const users = async (served: Program, round: number): Promise<string[]> => {
  const names = Array.from({ length: ACCOUNTS }, (_, at) => `user-${round}-${at}`)
  for (const username of names)
    await post(served, '/admin/users', {
      ...{ username, email: `${username}@example.test`, password: PASSWORD },
    })
  return names
}

/** Passwords are slow to check on purpose: what other clients notice of that. */
export const logins: Bench = {
  name: 'logins',
  async run({ rounds, say }) {
    say('signing in beside other requests')
    const data = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    // Derivations run in threads of the server, which may use all cores as they do in production.
    const served = await program(join(data, 'd'), { isPinned: false })
    const measure = () => latencyAt(served, '/user/quota', served.token, REQUESTS_PER_SECOND)
    const [alone, beside]: [Latency[], Latency[]] = [[], []]
    let refused = 0
    try {
      for (let round = 0; round < rounds; round++) {
        const names = await users(served, round)
        alone.push(await measure())
        const [latency, number] = await Promise.all([measure(), logInAll(served, names)])
        beside.push(latency)
        refused += number
      }
    } finally {
      await served.stop()
      rmSync(data, { recursive: true, force: true })
    }
    return [rowOf(alone, beside, refused)]
  },
}

const rowOf = (alone: readonly Latency[], beside: readonly Latency[], refused: number): Measurement => {
  const medianOf = (all: readonly Latency[], of: 'p50' | 'p99') => median(all.map((one) => one[of]))
  const value = medianOf(beside, 'p99')
  const busy = refused === 0 ? '' : ` (${refused} of ${ACCOUNTS * alone.length} refused)`
  return {
    name: `\`GET /user/quota\`, ${REQUESTS_PER_SECOND}/s beside ${LOGINS_PER_SECOND} logins/s with passwords${busy}, p99`,
    ...{ value, unit: 'ms', latency: { p50: medianOf(beside, 'p50'), p99: value } },
    ...{ reference: medianOf(alone, 'p99'), against: 'without logins' },
    ...{ goal: 'under 20 ms', isReached: value < 20 },
  }
}
