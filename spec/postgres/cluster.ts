import { mkdtempSync } from 'node:fs'
import { chown, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { run as runCommand, runSync } from '../support/child.ts'
import { atEnd, once } from '../support/cleanup.ts'
import { freePort } from '../support/free-port.ts'
import { lacks, programOf } from '../support/requirements.mjs'

/** A PostgreSQL server in a temporary folder, which `dispose` removes. */
export interface Cluster {
  /** URL of the Unix socket, without a password. */
  url: string
  /** URL of 127.0.0.1, with the password. */
  tcp: string
  port: number
  /** Folder of the Unix socket. */
  folder: string
  stop(how?: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
  /** Makes a standby the primary. */
  promote(): Promise<void>
  dispose(): Promise<void>
}

export const PASSWORD = 'of the specs'

/** Why specs that need PostgreSQL are skipped; false when it is installed. */
export const missing = lacks('PostgreSQL')

/** The user of Debian's package, when this process is root: PostgreSQL refuses to run as root. */
export const unprivileged = (): { uid?: number; gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  const number = (flag: string) => Number(runSync('id', [flag, 'postgres']))
  return { uid: number('-u'), gid: number('-g') }
}

/** How long a program of PostgreSQL may take. `pg_ctl` itself waits a minute for a server. */
const PROGRAM_MS = 90_000

type Run = (program: string, ...words: string[]) => Promise<unknown>

/** A folder for a database, and a function that runs PostgreSQL's programs there. */
const createFolder = async (): Promise<{ folder: string; data: string; run: Run }> => {
  const bin = dirname(programOf('PostgreSQL') ?? '')
  const folder = mkdtempSync(join(tmpdir(), 'allot-pg-'))
  const who = unprivileged()
  if (who.uid !== undefined) await chown(folder, who.uid, who.gid!)
  const run: Run = (program, ...words) =>
    runCommand(join(bin, program), words, { ...who, cwd: folder, timeout: PROGRAM_MS })
  return { folder, data: join(folder, 'data'), run }
}

/**
 * @param synced whether commits wait for the disk. A killed server loses nothing without it, and specs run
 * faster.
 */
export const startCluster = async ({
  synced = false,
  settings = [],
}: {
  synced?: boolean
  settings?: string[]
} = {}): Promise<Cluster> => {
  const place = await createFolder()
  const { folder, data, run } = place
  await writeFile(join(folder, 'password'), PASSWORD)
  await run(
    ...(['initdb', '-D', data, '-U', 'allot', '-E', 'UTF8', '--no-locale', '--no-sync'] as const),
    ...['--auth-local=trust', '--auth-host=scram-sha-256', '--pwfile', join(folder, 'password')],
  )
  return startServer(place, [`fsync=${synced}`, ...settings])
}

/** A synchronous standby of the primary. */
export const startStandby = async (primary: Cluster): Promise<Cluster> => {
  const place = await createFolder()
  const source = `host=${primary.folder} port=${primary.port} user=allot application_name=standby`
  await place.run('pg_basebackup', '-d', source, '-D', place.data, '-R', '-X', 'stream', '-c', 'fast', '-N')
  const standby = await startServer(place, ['fsync=off'])
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  await client.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
  await client.query('SELECT pg_reload_conf()')
  await client.end()
  return standby
}

const startServer = async (
  { folder, data, run }: Awaited<ReturnType<typeof createFolder>>,
  settings: readonly string[],
  attempts = 3,
): Promise<Cluster> => {
  const port = await freePort()
  const options = [
    ...[`port=${port}`, `unix_socket_directories=${folder}`, 'listen_addresses=127.0.0.1'],
    ...['max_connections=200', 'logging_collector=off', ...settings],
  ]
  const words = [
    '-D',
    data,
    '-w',
    '-l',
    join(folder, 'log'),
    '-o',
    options.map((option) => `-c ${option}`).join(' '),
  ]
  const start = async () => void (await run('pg_ctl', ...words, 'start'))
  const stop = async (how = 'fast') => void (await run('pg_ctl', '-D', data, '-w', '-m', how, 'stop'))
  const dispose = once(async () => {
    await stop('immediate').catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  })
  try {
    await start()
  } catch (error) {
    // Another program may have taken the port meanwhile.
    if (attempts === 1) throw error
    return startServer({ folder, data, run }, settings, attempts - 1)
  }
  atEnd(dispose)
  return {
    url: `postgres://allot@127.0.0.1:${port}/postgres?host=${encodeURIComponent(folder)}`,
    tcp: `postgres://allot:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    port,
    folder,
    start,
    stop,
    promote: async () => void (await run('pg_ctl', '-D', data, '-w', 'promote')),
    dispose,
  }
}
