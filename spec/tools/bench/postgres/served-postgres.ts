import pg from 'pg'
import { postgres } from '../../../../drivers/postgres/index.ts'
import { openAllot } from '../../../../lib/allot.ts'
import type { Sample } from '../servers/index.ts'
import { listen } from '../servers/listen.ts'

/**
 * The program of the processes that the PostgreSQL bench starts: the server itself, or one with a SELECT by
 * hand.
 */
const [kind, url, word] = process.argv.slice(2) as [string, string, string]

/** Owners with a repository and something in it, judged by a group, each with a token. */
const allot = async (users: number) => {
  const served = await openAllot({
    driver: postgres(url),
    repositories: false,
    quota: { defaultGroups: ['free'] },
  })
  const { hosting, ledger, quota } = served
  await quota.groups.create({
    name: 'free',
    rules: [{ name: 'total', limit: 2 ** 30, subjects: ['size:all'] }],
  })
  const tokens: string[] = []
  for (let at = 0; at < users; at++) {
    const name = `user${at}`
    const account = await hosting.accounts.createUser({ name })
    await hosting.repositories.create(account, account, { name: 'demo' })
    await ledger.put({ kind: 'lfs', key: name, repository: `${name}/demo`, name: 'x', size: at })
    tokens.push((await hosting.tokens.create(account.id, 'bench', ['all'])).secret)
  }
  listen(served.handler, { tokens })
}

/** One row by its primary key for each request, and the sampled answer of Allot. */
const select = async ({ headers, text }: Sample) => {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  await pool.query('CREATE TABLE IF NOT EXISTS by_hand_quota (id int PRIMARY KEY, answer bytea NOT NULL)')
  await pool.query('INSERT INTO by_hand_quota SELECT n, $1 FROM generate_series(0, 999) AS n', [
    Buffer.from(text),
  ])
  const all = Object.entries(headers).flat()
  let asked = 0
  listen((_req, res) => {
    const query = { name: 'quota', text: 'SELECT answer FROM by_hand_quota WHERE id = $1' }
    pool.query({ ...query, values: [++asked % 1000] }).then(
      ({ rows }) => {
        res.writeHead(200, all)
        res.end(rows[0].answer)
      },
      (error) => res.destroy(error),
    )
  }, {})
}

if (kind === 'select') await select(JSON.parse(word))
else await allot(Number(word))
