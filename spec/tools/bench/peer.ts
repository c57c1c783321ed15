import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryOf } from './memory.ts'
import { atLeast, type Bench, inTurns, type Measurement } from './report/measure.ts'
import { type Load, loadWith, local } from './servers/load.ts'
import { API, program } from './servers/program.ts'

/** Another server of the same API. */
export interface Peer {
  /** With or without `/api/v1`. */
  url: string
  token: string
  /** Its process, when it runs on this machine. */
  pid?: number
}

interface Side {
  base: string
  token: string
  login: string
}

const COMMON = 51
const NAMES = [
  ...Array.from({ length: COMMON }, (_, number) => `bench-${number}`),
  ...['one', 'two', 'three'].map((suffix) => `bench-sunflower-${suffix}`),
]
const TEXT = '# A title\n\nSome *words*, a [link](https://example.test/a) and `code`.\n\n- one\n- two\n\n'
  .repeat(64)
  .slice(0, 4096)

type Requests = NonNullable<Load['requests']>

const gets = (path: string): Requests => [{ method: 'GET', path: API + path }]

const stars = (login: string): Requests =>
  (['PUT', 'DELETE'] as const).flatMap((method) =>
    NAMES.map((name) => ({ method, path: `${API}/user/starred/${login}/${name}` })),
  )

const rendering = (): Requests => [
  { method: 'POST', path: `${API}/markdown`, body: JSON.stringify({ Text: TEXT, Mode: 'markdown' }) },
]

/** What both are asked, and how many times as fast Allot has to be. */
const ROWS: readonly [name: string, goal: number, requests: (login: string) => Requests][] = [
  ['`GET /version`', 10, () => gets('/version')],
  ['`GET /user`', 10, () => gets('/user')],
  ['`GET /user/quota`', 10, () => gets('/user/quota')],
  ['`GET /users/{owner}/repos`, 30 of 54', 10, (login) => gets(`/users/${login}/repos`)],
  ['a star set or taken away', 10, stars],
  ['`GET /repos/search`, three hits', 10, () => gets('/repos/search?q=sunflower')],
  ['`GET /repos/search`, one letter', 10, () => gets('/repos/search?q=b')],
  ['`POST /markdown` of 4 KiB', 2, rendering],
]

const ask = (side: Pick<Side, 'base' | 'token'>, method: string, path: string, body?: string) =>
  fetch(side.base + path, {
    method,
    headers: {
      authorization: `token ${side.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  })

/** Creates the repositories that a server does not have yet. */
const sideOf = async (base: string, token: string): Promise<Side> => {
  const user = await ask({ base, token }, 'GET', `${API}/user`)
  if (!user.ok) throw new Error(`${base}${API}/user: ${user.status} ${await user.text()}`)
  const { login } = (await user.json()) as { login: string }
  for (const name of NAMES) {
    const created = await ask({ base, token }, 'POST', `${API}/user/repos`, JSON.stringify({ name }))
    if (created.status !== 201 && created.status !== 409)
      throw new Error(`${base}: the repository ${name} was not created: ${await created.text()}`)
  }
  return { base, token, login }
}

const serves = async (side: Side, requests: Requests): Promise<boolean> => {
  const [{ method, path, body }] = requests as [Requests[number]]
  return (await ask(side, method, path, body)).ok
}

const rateOf = async ({ base, token }: Side, requests: Requests) =>
  (await loadWith({ base, path: '/', tokens: [token], requests })).rate

const memory = (pid: number, peer: number | undefined): Measurement[] => {
  const [value, reference] = [pid, peer].map((one) => one && memoryOf(one, 'VmHWM'))
  if (value === undefined || reference === undefined) return []
  const compared = { name: 'most memory during all that', unit: 'MiB', against: 'the peer' } as const
  return [{ ...compared, value, reference, goal: 'at most half', isReached: value <= reference / 2 }]
}

/**
 * The same requests to the server that `npm start` runs and to another server of the same API, each with the
 * same 54 repositories.
 */
export const beside = ({ url, token, pid }: Peer): Bench => ({
  name: 'peer',
  sendsLoad: true,
  async run({ rounds, say }) {
    const data = await mkdtemp(join(tmpdir(), 'allot-bench-peer-'))
    const served = await program(data, { isPinned: false })
    try {
      const own = await sideOf(local(served.port), served.token)
      const other = await sideOf(url.replace(/\/+$/, '').replace(/\/api\/v1$/, ''), token)
      const measured: Measurement[] = []
      for (const [name, goal, requests] of ROWS) {
        if (!(await serves(other, requests(other.login)))) {
          say(`${name}: the peer does not serve it`)
          continue
        }
        say(name)
        const [value, reference] = (await inTurns(rounds, [
          () => rateOf(own, requests(own.login)),
          () => rateOf(other, requests(other.login)),
        ])) as [number, number]
        const compared = { name, value, reference, unit: 'requests/s', against: 'the peer' } as const
        measured.push({ ...compared, ...atLeast(goal, value / reference) })
      }
      return [...measured, ...memory(served.pid, pid)]
    } finally {
      await served.stop()
      await rm(data, { recursive: true })
    }
  },
})
