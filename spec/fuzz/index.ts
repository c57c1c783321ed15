import { parseArgs } from 'node:util'
import { createSender, start } from '../support/test-server.ts'
import { withKnownValues } from './known-values.ts'
import { populate } from './populated.ts'
import { COMMAND, installedVersion, run } from './schemathesis.ts'

/**
 * `npm run fuzz [-- --examples N --seed N]`: what schemathesis thinks of is asked of a started server with data in it,
 * by an administrator and by a user.
 */
const { values } = parseArgs({
  options: { examples: { type: 'string', default: '20' }, seed: { type: 'string' } },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))

/** Fewer than these in all would prove little. */
const MIN_EXAMPLES = 2000

/** These may take away the credentials that the run itself has, so each is asked of a server of its own. */
const DANGEROUS = ['adminEditUser', 'adminDeleteUser', 'userDeleteAccessToken']

const campaigns = [
  {
    what: 'every operation but those',
    filters: DANGEROUS.flatMap((id) => ['--exclude-operation-id', id]),
    keepsCredentials: true,
  },
  ...DANGEROUS.map((id) => ({ what: id, filters: ['--include-operation-id', id], keepsCredentials: false })),
]

/** A server that counts what it answers, and remembers what it had to log. */
const startWatched = async () => {
  const [statuses, failures] = [new Map<number, number>(), [] as string[]]
  const log = {
    error: (fields: object, message: string) => failures.push(`${message}: ${Object.values(fields)}`),
    info: () => undefined,
  }
  const running = await start(
    { log },
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
    const asked = { api: running.api, token, document, filters, examples: Number(values.examples), seed }
    const { cases, passed } = await run(asked)
    const { status } = await ask('GET', '/user', { token })
    if (keepsCredentials && status !== 200) failures.push(`the run has lost its credentials: ${status}`)
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
  console.error(`${COMMAND} cannot be started: pip install schemathesis, or say where it is in SCHEMATHESIS`)
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
  console.error(`at least ${MIN_EXAMPLES} are wanted`)
  process.exitCode = 1
}
