import { createHash } from 'node:crypto'
import { connectSource } from '../../bin/migrate/connect.ts'
import { migrate, select } from '../../bin/migrate/index.ts'
import type { MigrationOptions } from '../../bin/migrate/migration.ts'
import { Report } from '../../bin/migrate/report.ts'
import { Source } from '../../bin/migrate/source.ts'
import { LIMITS, type Limits } from '../../bin/migrate/source-requests.ts'
import { Comparison } from '../../bin/migrate/verify/comparison.ts'
import { verifyMigration } from '../../bin/migrate/verify/index.ts'
import { Store } from '../../lib/records/store.ts'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createSpecStore } from '../support/store.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'

/** Where a migration reads from. */
export type From = Pick<TestServer, 'base' | 'root'> & Pick<Limits, 'fetch'>

/** A server with an empty store, and everything that is moved into it. */
export interface Target extends TestServer {
  /** What the server's own store has, for rights that no request tells. */
  store: Store
  from(
    source: From,
    owners?: readonly string[],
    options?: Partial<MigrationOptions>,
  ): Promise<Report & { text: string }>
  /** Milliseconds of the pauses before requests that were sent again. No time passes in them. */
  pauses: number[]
  /** Compares what was moved with the source. */
  compared(source: From, owners?: readonly string[]): Promise<Comparison & { text: string }>
  /** Where git data is. */
  directory: string
}

/** @param git whether git data is copied */
export const startTarget = async ({ git: hasGit = true } = {}): Promise<Target> => {
  const directory = temporaryDirectory()
  const made = await createSpecStore()
  const repositories = hasGit && { directory }
  const target = await start({ repositories, webhooks: true }, { store: async () => made })
  const git = hasGit ? { directory, git: 'git' } : undefined
  const pauses: number[] = []
  const connect = ({ base, root, fetch }: From) =>
    connectSource(base, root.token, {
      ...LIMITS,
      ...(fetch && { fetch }),
      pause: async (ms) => void pauses.push(ms),
    })
  return {
    ...target,
    directory,
    pauses,
    store: new Store(made.driver),
    async from(given, owners = [], options = {}) {
      const report = new Report()
      const source = await connect(given)
      const selected = await select(source, owners, options.renames)
      await migrate({ source, allot: target.allot, report, git, ...options }, selected)
      return Object.assign(report, { text: report.lines().join('\n') })
    },
    async compared(given, owners = []) {
      const report = new Comparison()
      const source = await connect(given)
      const here = hereOf(target)
      const selected = await select(source, owners)
      await verifyMigration({ source, here, allot: target.allot, report, git }, selected)
      return Object.assign(report, { text: report.lines().join('\n') })
    },
  }
}

const hereOf = ({ base, root }: TestServer): Source => {
  const here = new Source(base, root.token, LIMITS)
  return Object.assign(here, { isAllot: true, isOpen: true, login: root.name })
}

/** The lines of an export, without when tokens were used last, and the id that the next fetch gets. */
export const everythingIn = async ({ allot }: TestServer): Promise<string[]> => {
  let text = ''
  await allot.export(async (bytes) => {
    text += Buffer.from(bytes).toString('latin1')
  })
  return text
    .replaceAll(/,"lastUsedAt":\d+/g, '')
    .trimEnd()
    .split('\n')
    .slice(1, -1)
    .filter((line) => !line.startsWith('{"sequence":"push"'))
}

/**
 * A repository of the real git, with a branch and a tag beside main.
 * @returns its folder
 */
export const pushed = async (source: TestServer, who: Person, path: string): Promise<string> => {
  const folder = await aCheckout({ 'README.md': `# ${path}\n` })
  await git(folder, 'tag', '--annotate', '--message', 'first', 'v1')
  await git(folder, 'branch', 'other')
  await git(folder, 'remote', 'add', 'origin', urlFor(source, path, who))
  await git(folder, 'push', '--quiet', 'origin', 'main', 'other', 'v1')
  return folder
}

/** All branches and tags that a clone gets. */
export const refsOf = (server: TestServer, who: Person, path: string): Promise<string> =>
  git('/', 'ls-remote', urlFor(server, path, who))

/** An LFS object, and the file of the repository that stands for it. */
export const LFS = 'large content\n'
export const OID = createHash('sha256').update(LFS).digest('hex')
export const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${OID}\nsize ${LFS.length}\n`
