import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { folderOf } from '../../../lib/git/folders.ts'
import type { Served } from '../../bin/program.ts'
import { buildProgram } from '../../support/build.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { createSender } from '../../support/request.ts'
import { replaceMeasured } from '../measured.ts'
import { type Attack, type AttackSetup, attacks } from './attacks.ts'
import { type Resident, watchMemory } from './memory.ts'
import type { Measurement } from './victim.ts'

/*
 * `npm run hostile`: attacks the published server from one address, while another signed-in client measures
 * how fast it is still answered. Linux only, since memory is read from /proc.
 */
const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '10' },
    security: { type: 'boolean', default: false },
  },
})
/** Goals for the other client: milliseconds of an answer, seconds of a clone. */
const GOALS = { p99: 250, clone: 5 }
const ATTACKER = '127.0.0.2'
const seconds = Number(flags.seconds)

interface Row {
  attack: Attack
  measured: Measurement
  memory: Resident
  counts: Record<string, number>
}

/** Starts a process; its input is a file, since it can be longer than a command line. */
const startProcess = (file: string, input: object): ChildProcess => {
  const path = join(temporaryDirectory(), 'input.json')
  writeFileSync(path, JSON.stringify(input))
  const args = ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, file), path]
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
}

const outputOf = async (child: ChildProcess): Promise<string> => {
  let text = ''
  for await (const chunk of child.stdout!) text += chunk
  return text
}

/** Creates the attacker and the victim, who has a small repository. */
const prepareServer = async (server: Served): Promise<Omit<AttackSetup, 'folderOf'> & { victim: string }> => {
  const ask = createSender(server.api)
  while (!/token ([0-9a-f]{40})/.test(server.printed())) await new Promise((wake) => setTimeout(wake, 20))
  const [, root] = /token ([0-9a-f]{40})/.exec(server.printed())!
  const person = async (username: string): Promise<string> => {
    const body = { username, password: 'open: sesame', email: `${username}@example.test` }
    await ask('POST', '/admin/users', { token: root!, body })
    const authorization = `Basic ${btoa(`${username}:open: sesame`)}`
    const fields = { name: 'hostile', scopes: ['all'] }
    const path = `/users/${username}/tokens`
    const { body: token } = await ask('POST', path, { headers: { authorization }, body: fields })
    return token.sha1
  }
  const [victim, mallory] = [await person('victim'), await person('mallory')]
  await ask('POST', '/user/repos', { token: victim, body: { name: 'small', auto_init: true } })
  return { base: new URL(server.api).origin, ask, root: root!, mallory, victim }
}

const run = async (attack: Attack): Promise<Row> => {
  // The module reads ALLOT_SPEC_PROGRAM when it is loaded.
  const { served } = await import('../../bin/program.ts')
  const data = join(temporaryDirectory(), 'data')
  const server = await served(['--data', data])
  try {
    const { victim, ...prepared } = await prepareServer(server)
    const scene = { ...prepared, folderOf: (id: number) => folderOf(join(data, 'repositories'), id) }
    const weapon = await attack.prepare(scene)
    const memory = watchMemory(server.child.pid!)
    const attacker = startProcess('attacker.ts', { base: scene.base, weapon, localAddress: ATTACKER })
    await once(attacker.stdout!, 'data')
    await new Promise((wake) => setTimeout(wake, 1000))
    const clone = new URL(`${scene.base}/victim/small.git`)
    Object.assign(clone, { username: 'victim', password: victim })
    const input = { base: scene.base, path: '/api/v1/user/quota', token: victim, clone: clone.href, seconds }
    const measured = JSON.parse(await outputOf(startProcess('victim.ts', input))) as Measurement
    attacker.kill()
    const counts = JSON.parse(await outputOf(attacker)) as Record<string, number>
    return { attack, measured, memory: memory(), counts }
  } finally {
    await server.stop('SIGKILL')
  }
}

const percentile = (sorted: number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

const isReached = ({ measured: { times, failed, clones, clonesFailed } }: Row): boolean =>
  failed + clonesFailed === 0 &&
  percentile(times, 0.99) < GOALS.p99 &&
  clones.every((time) => time < GOALS.clone)

const rowOf = (row: Row): string => {
  const { attack, measured, memory } = row
  const { times, failed, clones, clonesFailed } = measured
  const lost = failed + clonesFailed === 0 ? '' : `, ${failed + clonesFailed} failed`
  const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB`
  const cells = [
    attack.title,
    `${percentile(times, 0.5).toFixed(1)} ms`,
    `${percentile(times, 0.99).toFixed(0)} ms`,
    `${Math.max(...clones).toFixed(2)} s`,
    mebibytes(memory.own),
    mebibytes(memory.children),
    isReached(row) ? 'yes' : `no${lost}`,
  ]
  return `| ${cells.join(' | ')} |`
}

const HEAD = [
  '| from one address | p50 | p99 | slowest clone | memory of the server | of its gits | reached |',
  '|---|---|---|---|---|---|---|',
]
/** A load before the run means that other processes slowed the server down. */
const load = `load average ${loadavg()[0]!.toFixed(1)} before`
const footer = `Node ${process.versions.node}, ${cpus().length} cores, ${load}, attacked for ${seconds} s each`

const selected = attacks.filter(
  ({ name }) => flags.only === undefined || flags.only.split(',').includes(name),
)
if (selected.length === 0 || !(seconds > 0)) {
  const names = attacks.map(({ name }) => name).join(', ')
  process.stderr.write(`hostile: expected --only with some of ${names}, and --seconds above 0\n`)
  process.exit(2)
}
process.env.ALLOT_SPEC_PROGRAM = buildProgram()
const rows: Row[] = []
for (const attack of selected) {
  const row = await run(attack)
  rows.push(row)
  process.stderr.write(`${rowOf(row)} ${JSON.stringify(row.counts)}\n`)
}
const table = [...HEAD, ...rows.map(rowOf), '', `${footer}.`].join('\n')
process.stdout.write(`${table}\n`)
if (flags.security) replaceMeasured('SECURITY.md', 'hostile', table)
process.exit(rows.every(isReached) ? 0 : 1)
