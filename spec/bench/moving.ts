import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type * as v from 'valibot'
import { hashSecret } from '../../lib/accounts/credentials.ts'
import { LineWriter } from '../../lib/exports/export.ts'
import { type FirstLine, FORMAT, FORMAT_VERSION } from '../../lib/exports/format.ts'
import {
  accounts,
  CURRENT_LAYOUT,
  ledgerEntries,
  noEntrySizes,
  noLedgerEntries,
  ownerUsages,
  repositories,
  repositoryUsages,
  tokens,
} from '../../lib/records/schema/index.ts'

/**
 * Imports an instance of `--records N` records (a million when absent) through the command line, serves it,
 * and exports it over HTTP while somebody writes. Prints how long each took and the memory of the process;
 * fails when the export needs more than 64 MiB beyond what the server had before.
 */
const { values: flags } = parseArgs({ options: { records: { type: 'string', default: '1000000' } } })
const records = Number(flags.records)
const MIB = 1024 * 1024
const MAX = 64 * MIB
const TOKEN = 'f'.repeat(40)

const say = (words: string) => process.stderr.write(`… ${words}\n`)

/** An administrator with a token, one repository, and artifacts in it. */
function* lines(): Generator<object> {
  const times = { createdAt: 1, updatedAt: 1 }
  const record = <R>({ options }: { options: { name: string; schema: v.GenericSchema<R> } }, of: R) => ({
    collection: options.name,
    record: of,
  })
  for (const sequence of ['account', 'token', 'repository']) yield { sequence, next: 33 }
  yield record(accounts, {
    ...{ id: 1, kind: 'user', name: 'root', fullName: '', email: '', website: '', description: '' },
    ...{ location: '', visibility: 'public', admin: true, active: true, password: null, ...times },
  })
  yield record(tokens, {
    ...{ id: 1, account: 1, name: 't', hash: hashSecret(TOKEN), lastEight: TOKEN.slice(-8), scopes: ['all'] },
    createdAt: 1,
  })
  yield record(repositories, {
    ...{ id: 1, owner: 1, name: 'demo', description: '', website: '', private: false, audience: 0 },
    ...{ empty: true, mirror: false, archived: false, parent: null, defaultBranch: 'main', size: 0, lfs: 0 },
    ...{ stars: 0, forks: 0, watchers: 0, ...times },
  })
  const artifacts = records
  yield record(ownerUsages, {
    ...{ owner: 1, reposPublic: 0, reposPrivate: 0, ...noEntrySizes, artifacts, day: 20_000, earlierDays: 0 },
  })
  yield record(repositoryUsages, {
    ...{ id: 1, owner: 1, private: false, git: 0, ...noLedgerEntries, artifacts, inMain: records },
  })
  for (let n = 0; n < records; n++)
    yield record(ledgerEntries, {
      ...{
        kind: 'artifacts',
        key: `artifact ${n}`,
        partitionOwner: 1,
        repository: 1,
        name: `build ${n % 1000}`,
        size: 1,
      },
      ...{ on: null, index: null, run: n, type: null, version: null, createdAt: 1 },
    })
}

const writeFile = async (file: string): Promise<void> => {
  const stream = createWriteStream(file)
  const writer = new LineWriter(async (bytes) => void (stream.write(bytes) || (await once(stream, 'drain'))))
  const first: FirstLine = {
    ...{ format: FORMAT, version: FORMAT_VERSION, layout: CURRENT_LAYOUT, time: '2026-01-01T00:00:00Z' },
  }
  await writer.line(JSON.stringify(first))
  for (const one of lines()) await writer.line(JSON.stringify(one))
  await writer.end()
  stream.end()
  await once(stream, 'finish')
}

const allot = (...args: string[]): ChildProcess => {
  const program = fileURLToPath(new URL('../../bin/allot.ts', import.meta.url))
  return spawn(process.execPath, ['--import', 'tsx', program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** Bytes of memory that a process has now: all, and its own without the files that LevelDB maps. */
const memoryOf = ({ pid }: ChildProcess): { all: number; own: number } => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024
    return { all: bytes('VmRSS'), own: bytes('RssAnon') }
  } catch {
    // The process is gone.
    return { all: 0, own: 0 }
  }
}

const larger = (one: { all: number; own: number }, other: typeof one) => ({
  all: Math.max(one.all, other.all),
  own: Math.max(one.own, other.own),
})

/** The most that a process had while the work went on, and the seconds that this took. */
const watched = async (child: ChildProcess, work: () => Promise<unknown>) => {
  let peak = memoryOf(child)
  const timer = setInterval(() => {
    peak = larger(peak, memoryOf(child))
  }, 20)
  const begin = performance.now()
  await work()
  clearInterval(timer)
  return { peak, seconds: (performance.now() - begin) / 1000 }
}

const ask = (url: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) =>
    get(url, { headers: { authorization: `token ${TOKEN}` } }, resolve).on('error', reject),
  )

const readAll = async (url: string) => {
  const answer = await ask(url)
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { status: answer.statusCode, bytes }
}

const put = (api: string, n: number) =>
  fetch(`${api}/admin/ledger/artifacts/new%20${n}`, {
    method: 'PUT',
    headers: { authorization: `token ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ repository: 'root/demo', name: 'x', size: 1, run: 1 }),
  }).then((answer) => answer.arrayBuffer())

const figures = (
  what: string,
  { seconds, peak }: { seconds: number; peak: { all: number } },
  bytes: number,
): string =>
  `${what}: ${seconds.toFixed(1)} s, ${(bytes / MIB / seconds).toFixed(1)} MiB/s, at most ${(peak.all / MIB).toFixed(0)} MiB of memory`

const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const [file, data] = [join(folder, 'export.ndjson'), join(folder, 'data')]

say(`writing ${records} records`)
await writeFile(file)
const size = statSync(file).size

say('importing')
const importing = allot('import', file, '--data', data)
const imported = await watched(importing, () => once(importing, 'close'))
if (importing.exitCode !== 0) process.exit(1)

const server = allot('serve', '--port', '0', '--data', data)
const [greeting] = await once(server.stdout!, 'data')
const [api] = /http:\S+/.exec(String(greeting))!
for (let n = 0; n < 200; n++) await put(api, n)
for (let n = 0; n < 200; n++) await readAll(`${api}/user/quota`)
const base = memoryOf(server)

say('exporting')
let [writing, written] = [true, 200]
const writer = (async () => {
  while (writing) await put(api, written++)
})()
let answer = { status: 0 as number | undefined, bytes: 0 }
const exported = await watched(server, async () => {
  answer = await readAll(`${api}/admin/export`)
})
writing = false
await writer
server.kill()
await once(server, 'close')

const more = exported.peak.all - base.all
const own = exported.peak.own - base.own
process.stdout.write(`${records} records, ${(size / MIB).toFixed(0)} MiB, Node ${process.versions.node}, ${cpus().length} cores
${figures('import', imported, 2 * size)} (read twice: checked first)
${figures('export', exported, answer.bytes)}, ${(more / MIB).toFixed(0)} MiB more than before (${(own / MIB).toFixed(0)} of them its own, the rest mapped files), while ${written - 200} entries were written
`)
if (answer.status !== 200 || answer.bytes < size) process.exit(1)
process.exit(more <= MAX ? 0 : 1)
