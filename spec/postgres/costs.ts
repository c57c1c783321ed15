import pg from 'pg'
import { postgres } from '../../drivers/postgres/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { replaceSection } from '../readme/documents.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { startCluster } from './cluster.ts'

/**
 * `npm run costs`: round trips and bytes between a server and its database for some requests, with a cold
 * cache and with a warm one. `--docs` writes the table into docs/scale.md.
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

type Sockets = Set<{ bytesRead: number; bytesWritten: number }>

/** The connections that pg has used, and the number of its queries. */
const watchQueries = (): { sockets: Sockets; count: () => number } => {
  const sockets: Sockets = new Set()
  let queries = 0
  const client = pg.Client.prototype as unknown as { query: (...given: unknown[]) => unknown }
  const { query } = client
  client.query = function (this: { connection: { stream: never } }, ...given) {
    queries++
    sockets.add(this.connection.stream)
    return query.apply(this, given)
  }
  return { sockets, count: () => queries }
}

const { sockets, count } = watchQueries()
const sum = (of: 'bytesRead' | 'bytesWritten') => [...sockets].reduce((all, socket) => all + socket[of], 0)

const costOf = async (body: () => Promise<unknown>): Promise<Cost> => {
  const before = { trips: count(), sent: sum('bytesWritten'), received: sum('bytesRead') }
  await body()
  return {
    trips: count() - before.trips,
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
const cold = await costsOn(allot, alice)
await costsOn(allot, alice)
await costsOn(allot, alice)
const warm = await costsOn(allot, alice)
await allot.stop()

const cells = ({ trips, sent, received }: Cost) =>
  `${trips} | ${sent.toLocaleString('en')} / ${received.toLocaleString('en')}`
const table = [
  '| request | first time: round trips | bytes to / from the database | afterwards: round trips | bytes to / from |',
  '|---|---|---|---|---|',
  ...REQUESTS.map(
    ([method, path], at) => `| \`${method} ${path}\` | ${cells(cold[at]!)} | ${cells(warm[at]!)} |`,
  ),
].join('\n')
process.stdout.write(`${table}\n`)
await cluster.dispose()
if (process.argv.includes('--docs')) replaceSection('docs/scale.md', 'costs', table)
