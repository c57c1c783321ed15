import { parseArgs } from 'node:util'
import { createSender, start } from '../support/test-server.ts'
import { withKnownValues } from './known-values.ts'
import { populate } from './populated.ts'
import { COMMAND, installedVersion, run } from './schemathesis.ts'

/**
 * `npm run fuzz [-- --examples N --seed N]`: schemathesis generates requests to a populated server, as an
 * administrator and as a user.
 */
const { values } = parseArgs({
  options: { examples: { type: 'string', default: '20' }, seed: { type: 'string' } },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))

/** The run fails with fewer examples, since they would prove little. */
const MIN_EXAMPLES = 2000

/** These can revoke the credentials of the run, so each runs on its own server. */
const DANGEROUS = ['adminEditUser', 'adminDeleteUser', 'userDeleteAccessToken']

const campaigns = [
  {
    what: 'all other operations',
    filters: DANGEROUS.flatMap((id) => ['--exclude-operation-id', id]),
    keepsCredentials: true,
  },
  ...DANGEROUS.map((id) => ({ what: id, filters: ['--include-operation-id', id], keepsCredentials: false })),
]

/** Starts a server that counts its answers and collects logged errors. */
const startWatched = async () => {
  const [statuses, failures] = [new Map<number, number>(), [] as string[]]
  const log = {
    error: (fields: object, message: string) => failures.push(`${message}: ${Object.values(fields)}`),
    info: () => undefined,
  }
  const running = await start(
    { log, webhooks: true },
    {
      mount: (handler) => (req, res) => {
        res.once('finish', () => statuses.set(res.statusCode, (statuses.get(res.statusCode) ?? 0) + 1))
        handler(req, res)
      },
    },
  )
  return { running, statuses, failures }
}

const runCampaign = async (
  who: 'root' | 'alice',
  { filters, keepsCredentials }: (typeof campaigns)[number],
) => {
  const { running, statuses, failures } = await startWatched()
  try {
    const { alice } = await populate(running.allot)
    const { token } = { alice, root: running.root }[who]
    const ask = createSender(running.api)
    const document = withKnownValues((await ask('GET', '/openapi.json')).body)
    const options = { api: running.api, token, document, filters, examples: Number(values.examples), seed }
    const { cases, passed } = await run(options)
    const { status } = await ask('GET', '/user', { token })
    if (keepsCredentials && status !== 200)
      failures.push(`the credentials of the run no longer work: ${status}`)
    for (const failure of failures) console.error(failure)
    return { cases, passed: passed && failures.length === 0, statuses: formatStatuses(statuses) }
  } finally {
    await running.stop()
  }
}

const formatStatuses = (statuses: Map<number, number>): string =>
  [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, times]) => `${status}: ${times}`)
    .join(', ')

const version = installedVersion()
if (version === undefined) {
  console.error(`${COMMAND} is not installed: pip install schemathesis, or set SCHEMATHESIS to its path`)
  process.exit(1)
}

const lines: string[] = []
let sum = 0
for (const who of ['root', 'alice'] as const)
  for (const one of campaigns) {
    console.log(`\n${who}: ${one.what}`)
    const { cases, passed, statuses } = await runCampaign(who, one)
    sum += cases
    lines.push(`${passed ? 'passed' : 'FAILED'}  ${who}, ${one.what}: ${cases} examples (${statuses})`)
    if (!passed) process.exitCode = 1
  }
console.log(`\n${version}, seed ${seed}\n${lines.join('\n')}\n${sum} examples in all`)
if (sum < MIN_EXAMPLES) {
  console.error(`expected at least ${MIN_EXAMPLES} examples`)
  process.exitCode = 1
}
