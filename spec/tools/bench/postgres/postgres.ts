import pg from 'pg'
import { postgres as driver } from '../../../../drivers/postgres/index.ts'
import { type OpenAllot, openAllot } from '../../../../lib/allot.ts'
import type { Account, Repository } from '../../../../lib/records/schema/index.ts'
import { startCluster } from '../../../postgres/cluster.ts'
import { atLeast, type Bench, inTurns } from '../report/measure.ts'
import { ask, hostBy } from '../servers/index.ts'
import { load } from '../servers/load.ts'

const BATCH_SIZE = 32
const STARS = 3200

const QUOTA = '/api/v1/user/quota'

type Work = (worker: number, turn: number) => Promise<unknown>

/** A second of work or less, by so many at once: each is given its own number and that of the turn. */
const rate = async (work: Work, atOnce = BATCH_SIZE): Promise<number> => {
  const turns = STARS / BATCH_SIZE
  const begun = performance.now()
  const worker = async (_: unknown, number: number) => {
    for (let turn = 0; turn < turns; turn++) await work(number, turn)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return ((turns * atOnce) / (performance.now() - begun)) * 1000
}

interface Starred {
  allot: OpenAllot
  people: Account[]
  repositories: Repository[]
}

const populated = async (url: string): Promise<Starred> => {
  const allot = await openAllot({ driver: driver(url), repositories: false })
  const starred: Starred = { allot, people: [], repositories: [] }
  for (let at = 0; at < BATCH_SIZE; at++) {
    const person = await allot.hosting.accounts.createUser({ name: `person${at}` })
    starred.people.push(person)
    starred.repositories.push(await allot.hosting.repositories.create(person, person, { name: 'demo' }))
  }
  return starred
}

/**
 * Sets a star in one turn and takes it away in the next, through the library: everything that belongs to one
 * is written.
 */
const star =
  ({ allot, people }: Starred, place: (worker: number) => number): Work =>
  (worker, turn) => {
    const viewer = { id: people[worker]!.id, admin: false }
    const repository = { owner: people[place(worker)]!.name, name: 'demo' }
    return allot.hosting.relations.stars[turn % 2 === 0 ? 'set' : 'clear'](viewer, repository)
  }

/** The same by hand: read, write, count, in one transaction with prepared statements. */
const byHand =
  (pool: pg.Pool, place: (worker: number) => number): Work =>
  async (worker, turn) => {
    const client = await pool.connect()
    const repository = place(worker)
    try {
      await client.query('BEGIN')
      const read = { name: 'read', text: 'SELECT stars FROM by_hand_repository WHERE id = $1 FOR UPDATE' }
      const { rows } = await client.query({ ...read, values: [repository] })
      const write =
        turn % 2 === 0
          ? { name: 'set', text: 'INSERT INTO by_hand_star VALUES ($1, $2) ON CONFLICT DO NOTHING' }
          : { name: 'clear', text: 'DELETE FROM by_hand_star WHERE account = $1 AND repository = $2' }
      await client.query({ ...write, values: [worker, repository] })
      const count = { name: 'count', text: 'UPDATE by_hand_repository SET stars = $2 WHERE id = $1' }
      await client.query({ ...count, values: [repository, rows[0].stars + (turn % 2 === 0 ? 1 : -1)] })
      await client.query('COMMIT')
    } finally {
      client.release()
    }
  }

const prepareByHand = async (pool: pg.Pool): Promise<void> => {
  await pool.query('CREATE TABLE by_hand_repository (id int PRIMARY KEY, stars int NOT NULL)')
  await pool.query(
    'CREATE TABLE by_hand_star (account int, repository int, PRIMARY KEY (account, repository))',
  )
  await pool.query('INSERT INTO by_hand_repository SELECT n, 0 FROM generate_series(0, $1) AS n', [
    BATCH_SIZE,
  ])
}

const own = (worker: number) => worker
const hot = () => 0

const stars = async (url: string, rounds: number) => {
  const pool = new pg.Pool({ connectionString: url, max: BATCH_SIZE })
  await prepareByHand(pool)
  const starred = await populated(url)
  try {
    return await inTurns(rounds, [
      () => rate(star(starred, own)),
      () => rate(byHand(pool, own)),
      () => rate(star(starred, hot)),
      () => rate(byHand(pool, hot)),
      () => rate(star(starred, own), 1),
      () => rate(byHand(pool, own), 1),
    ])
  } finally {
    await starred.allot.close()
    await pool.end()
  }
}

const quotas = async (url: string, rounds: number) => {
  const served = await hostBy('postgres/served-postgres', 'allot', url, String(BATCH_SIZE))
  const { tokens } = served.told as { tokens: string[] }
  const sample = await ask(served.port, QUOTA, tokens[0])
  const bare = await hostBy('postgres/served-postgres', 'select', url, JSON.stringify(sample))
  try {
    return await inTurns(rounds, [
      () => load(served.port, QUOTA, ...tokens),
      () => load(bare.port, QUOTA, ...tokens),
    ])
  } finally {
    await served.stop()
    await bare.stop()
  }
}

export const postgres: Bench = {
  name: 'postgres',
  sendsLoad: true,
  async run({ rounds, say }) {
    say('starting a PostgreSQL')
    const cluster = await startCluster({ synced: true })
    try {
      say('starring')
      const [ours, hand, oursHot, handHot, oursAlone, handAlone] = await stars(cluster.url, rounds)
      say('loading /user/quota')
      const [quota, select] = await quotas(cluster.url, rounds)
      return [
        {
          name: `a star set or taken away, ${BATCH_SIZE} at once, each of its own repository`,
          value: ours!,
          reference: hand!,
          unit: 'transactions/s',
          against: 'three statements in one transaction by hand',
          ...atLeast(0.6, ours! / hand!),
        },
        {
          name: `the same, ${BATCH_SIZE} at once, all of one repository`,
          value: oursHot!,
          reference: handHot!,
          unit: 'transactions/s',
          against: 'the same by hand',
        },
        {
          name: 'a star set or taken away, one after another',
          value: oursAlone!,
          reference: handAlone!,
          unit: 'transactions/s',
          against: 'the same by hand',
          ...atLeast(0.6, oursAlone! / handAlone!),
        },
        {
          name: `\`GET /user/quota\` of ${BATCH_SIZE} users, 32 connections`,
          value: quota!,
          reference: select!,
          unit: 'requests/s',
          against: 'bare node:http, one primary-key SELECT and the same bytes',
          ...atLeast(0.7, quota! / select!),
        },
      ]
    } finally {
      await cluster.dispose()
    }
  },
}
