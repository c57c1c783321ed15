import pg from 'pg'
import { postgres } from '../../../../drivers/postgres/index.ts'
import { createAllot } from '../../../../lib/index.ts'
import { countTrips } from '../../../postgres/count-queries.ts'

/**
 * One of several processes that all push to one organization, or count by hand in one row: told for how long
 * to.
 */
const [kind, url, name] = process.argv.slice(2) as ['allot' | 'hand', string, string]
const WRITERS = 8

export interface Pushed {
  writes: number
  /** How often a write was sent to the database, those that came to nothing included. */
  sent: number
}

type Write = (key: string) => Promise<unknown>

const throughAllot = async (): Promise<Write> => {
  const { ledger } = await createAllot({ driver: postgres(url), repositories: false })
  return (key) => ledger.put({ kind: 'artifacts', key, repository: 'hot/demo', name: key, size: 1, run: 1 })
}

const byHand = async (): Promise<Write> => {
  const pool = new pg.Pool({ connectionString: url, max: WRITERS })
  const insert = { name: 'insert', text: 'INSERT INTO by_hand_pushed VALUES ($1)' }
  const count = { name: 'count', text: 'UPDATE by_hand_counted SET count = count + 1' }
  return async (key) => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await client.query({ ...insert, values: [key] })
      await client.query(count)
      await client.query('COMMIT')
    } finally {
      client.release()
    }
  }
}

const trips = countTrips()
const write = await (kind === 'allot' ? throughAllot() : byHand())
let made = 0

const pushFor = async (milliseconds: number): Promise<Pushed> => {
  const until = performance.now() + milliseconds
  let writes = 0
  const writer = async () => {
    while (performance.now() < until) {
      await write(`${name} ${++made}`)
      writes++
    }
  }
  const asked = await trips.during(() => Promise.all(Array.from({ length: WRITERS }, writer)))
  return { writes, sent: asked.filter((one) => /^(allot_change|COMMIT)$/.test(one)).length }
}

process.on('message', (milliseconds: number) => {
  pushFor(milliseconds).then(
    (pushed) => process.send!(pushed),
    (error) => {
      process.stderr.write(`${error}\n`)
      process.exit(1)
    },
  )
})
process.once('disconnect', () => process.exit())
process.send!('ready')
