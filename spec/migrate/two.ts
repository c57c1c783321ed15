import { connectSource } from '../../bin/migrate/connect.ts'
import { migrate } from '../../bin/migrate/index.ts'
import { Report } from '../../bin/migrate/report.ts'
import { Store } from '../../lib/records/store.ts'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createSpecStore } from '../support/store.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'

/** A server with an empty store, and everything that is moved into it. */
export interface Target extends TestServer {
  /** What the server's own store has, for rights that no request tells. */
  store: Store
  from(
    source: Pick<TestServer, 'base' | 'root'>,
    owners?: readonly string[],
  ): Promise<Report & { text: string }>
}

export const startTarget = async (): Promise<Target> => {
  const directory = temporaryDirectory()
  const made = await createSpecStore()
  const target = await start({ repositories: { directory } }, { store: async () => made })
  return {
    ...target,
    store: new Store(made.driver),
    async from({ base, root }, owners = []) {
      const report = new Report()
      const source = await connectSource(base, root.token)
      await migrate({ source, allot: target.allot, report, git: { directory, git: 'git' } }, owners)
      return Object.assign(report, { text: report.lines().join('\n') })
    },
  }
}

/** A repository of the real git, with a branch and a tag beside main. @returns its folder */
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
