import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { chown, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'

/** A PostgreSQL of its own, in a folder that goes when it is disposed of. */
export interface Cluster {
  /** By its socket, where everyone is trusted. */
  url: string
  /** By TCP on 127.0.0.1, with the password. */
  tcp: string
  port: number
  /** The folder of its socket. */
  folder: string
  stop(how?: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
  /** Makes a standby take writes. */
  promote(): Promise<void>
  dispose(): Promise<void>
  /** The same for a process that ends. */
  disposeAtOnce(): void
}

export const PASSWORD = 'of the specs'

const DEBIAN = '/usr/lib/postgresql'

/** Where initdb and pg_ctl are: the newest of Debian's versions, or on the path. */
const programs = (): string | undefined => {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((one, other) => +other - +one) : []
  const folders = [...versions.map((one) => join(DEBIAN, one, 'bin')), ...(process.env.PATH ?? '').split(':')]
  return folders.find((folder) => existsSync(join(folder, 'initdb')))
}

const HOW = 'PostgreSQL is not installed: apt-get install postgresql-15'

/** Why the specs that need PostgreSQL are skipped; false when they are not, as under CI=true, where they fail. */
export const missing: string | false = programs() === undefined && process.env.CI !== 'true' ? HOW : false

/** PostgreSQL refuses to run as root; Debian's package has made this user. */
export const unprivileged = (): { uid?: number; gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  const number = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: number('-u'), gid: number('-g') }
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

type Run = (program: string, ...words: string[]) => Promise<unknown>

/** A folder for a database, and a way to run PostgreSQL's programs there. */
const founded = async (): Promise<{ folder: string; data: string; bin: string; run: Run }> => {
  const bin = programs()
  if (bin === undefined) throw new Error(HOW)
  // The path of a socket has about a hundred characters at most, so it is not below a long TMPDIR.
  const folder = mkdtempSync('/tmp/allot-pg-')
  const who = unprivileged()
  if (who.uid !== undefined) await chown(folder, who.uid, who.gid!)
  const run: Run = (program, ...words) =>
    promisify(execFile)(join(bin, program), words, { ...who, cwd: folder })
  return { folder, data: join(folder, 'data'), bin, run }
}

/** @param synced whether commits wait for the disk: a process that is killed loses nothing without, and specs are quicker. */
export const startCluster = async ({
  synced = false,
  settings = [],
}: {
  synced?: boolean
  settings?: string[]
} = {}): Promise<Cluster> => {
  const place = await founded()
  const { folder, data, run } = place
  await writeFile(join(folder, 'password'), PASSWORD)
  await run(
    ...(['initdb', '-D', data, '-U', 'allot', '-E', 'UTF8', '--no-locale', '--no-sync'] as const),
    ...['--auth-local=trust', '--auth-host=scram-sha-256', '--pwfile', join(folder, 'password')],
  )
  return begun(place, [`fsync=${synced}`, ...settings])
}

/** A copy that follows, each of whose commits the other one waits for from now on. */
export const startStandby = async (primary: Cluster): Promise<Cluster> => {
  const place = await founded()
  const source = `host=${primary.folder} port=${primary.port} user=allot application_name=standby`
  await place.run('pg_basebackup', '-d', source, '-D', place.data, '-R', '-X', 'stream', '-c', 'fast', '-N')
  const standby = await begun(place, ['fsync=off'])
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  await client.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
  await client.query('SELECT pg_reload_conf()')
  await client.end()
  return standby
}

const begun = async (
  { folder, data, bin, run }: Awaited<ReturnType<typeof founded>>,
  settings: readonly string[],
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
    options.map((one) => `-c ${one}`).join(' '),
  ]
  const start = async () => void (await run('pg_ctl', ...words, 'start'))
  const stop = async (how = 'fast') => void (await run('pg_ctl', '-D', data, '-w', '-m', how, 'stop'))
  await start()
  return {
    url: `postgres://allot@localhost:${port}/postgres?host=${encodeURIComponent(folder)}`,
    tcp: `postgres://allot:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    port,
    folder,
    start,
    stop,
    promote: async () => void (await run('pg_ctl', '-D', data, '-w', 'promote')),
    async dispose() {
      await stop('immediate').catch(() => undefined)
      await rm(folder, { recursive: true, force: true })
    },
    disposeAtOnce() {
      const who = unprivileged()
      spawnSync(join(bin, 'pg_ctl'), ['-D', data, '-w', '-m', 'immediate', 'stop'], { ...who, cwd: folder })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
