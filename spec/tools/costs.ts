import { postgres } from '../../drivers/postgres/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { startCluster } from '../postgres/cluster.ts'
import { countTrips } from '../postgres/count-queries.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { replaceMeasured } from './measured.ts'

/**
 * `npm run costs`: round trips and bytes between a server and its database for some requests, the first time
 * and again. `--docs` writes the table into docs/scale.md.
 */
const REQUESTS: [method: string, path: string, body?: (time: number) => unknown][] = [
  ['GET', '/user/quota'],
  ['GET', '/user/quota/check?subject=size:all'],
  ['GET', '/repos/alice/demo'],
  ['GET', '/user/repos'],
  ['GET', '/user/starred'],
  ['GET', '/users/search?q=ali'],
  ['PUT', '/user/starred/alice/demo'],
  ['DELETE', '/user/starred/alice/demo'],
  ['PUT', '/admin/ledger/lfs/x', (time) => ({ repository: 'alice/demo', name: 'x', size: time })],
  ['POST', '/user/repos', (time) => ({ name: `r${time}` })],
]

interface Cost {
  trips: number
  sent: number
  received: number
}

/** The connections that pg has used. */
const sockets = new Set<{ bytesRead: number; bytesWritten: number }>()
const trips = countTrips((client) =>
  sockets.add((client as { connection: { stream: never } }).connection.stream),
)
const sum = (of: 'bytesRead' | 'bytesWritten') => [...sockets].reduce((all, socket) => all + socket[of], 0)

const costOf = async (body: () => Promise<unknown>): Promise<Cost> => {
  const before = { sent: sum('bytesWritten'), received: sum('bytesRead') }
  const { length } = await trips.during(body)
  return {
    trips: length,
    sent: sum('bytesWritten') - before.sent,
    received: sum('bytesRead') - before.received,
  }
}

const cluster = await startCluster()
let time = 0

const costsOn = async (allot: TestServer, alice: Person): Promise<Cost[]> => {
  const costs: Cost[] = []
  for (const [method, path, body] of REQUESTS)
    costs.push(await costOf(() => allot.as(alice, method, path, body?.(++time))))
  return costs
}

const before = await openAllot({ driver: postgres(cluster.url), repositories: false })
const account = await before.hosting.accounts.createUser({ name: 'alice', admin: true })
for (const name of ['demo', 'other']) await before.hosting.repositories.create(account, account, { name })
const { secret } = await before.hosting.tokens.create(account.id, 'spec', ['all'])
const alice: Person = { name: 'alice', id: account.id, token: secret, password: '' }
await before.close()

const allot = await start({ driver: postgres(cluster.url), repositories: false })
// Requests of another person open the connections and prepare the statements.
const other = await allot.person('other')
for (let warm = 0; warm < 40; warm++)
  await Promise.all([
    allot.as(other, 'GET', '/user/quota'),
    allot.as(other, 'GET', '/user/repos'),
    allot.as(other, 'PUT', `/user/following/${warm % 2 ? 'alice' : 'root'}`),
  ])
const first = await costsOn(allot, alice)
const again = await costsOn(allot, alice)
await allot.stop()

const table = [
  '| request | round trips, the first time | again | bytes to the database, again | bytes from it, again |',
  '|---|---|---|---|---|',
  ...REQUESTS.map(([method, path], at) => {
    const { trips, sent, received } = again[at]!
    const bytes = [sent, received].map((count) => count.toLocaleString('en'))
    return `| ${[`\`${method} ${path}\``, first[at]!.trips, trips, ...bytes].join(' | ')} |`
  }),
].join('\n')
process.stdout.write(`${table}\n`)
await cluster.dispose()
if (process.argv.includes('--docs')) replaceMeasured('docs/scale.md', 'costs', table)
