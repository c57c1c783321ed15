import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { git } from './clone.ts'
import { type Bench, type Measurement, median } from './report/measure.ts'
import { local } from './servers/load.ts'
import { API, type Program, post, program } from './servers/program.ts'

const FILES = 100_000
/** Commits after the first one, of which each changes one file. */
const CHANGES = 20
const GOAL_MS = 50
/** Milliseconds that git may take to write the changed paths after the push. */
const MAINTENANCE_MS = 60_000

const LAYOUTS = [
  { name: 'spread', text: '100,000 files in 100 folders', folders: 100 },
  { name: 'single', text: '100,000 files in one folder, changed by the last 20 commits', folders: 1 },
] as const
type Layout = (typeof LAYOUTS)[number]

const pathOf = (number: number, { folders }: Layout): string =>
  `folder-${number % folders}/file-${String(number).padStart(6, '0')}.txt`

/** The file that is read, which only the first commit has. */
const WANTED = FILES / 2

/** Input of `git fast-import`. */
const historyOf = (layout: Layout): string => {
  const lines = ['commit refs/heads/main', 'committer Ada <ada@example.test> 1700000000 +0000', 'data 0']
  for (let number = 0; number < FILES; number++)
    lines.push(`M 100644 inline ${pathOf(number, layout)}`, 'data 8', `c${String(number).padStart(7)}`)
  for (let change = 0; change < CHANGES; change++) {
    lines.push('commit refs/heads/main', `committer Ada <ada@example.test> ${1700000001 + change} +0000`)
    lines.push(
      'data 0',
      `M 100644 inline ${pathOf(change * 100, layout)}`,
      'data 8',
      `x${change + 1_000_000}`,
    )
  }
  return `${lines.join('\n')}\n`
}

/** Pushes a repository, and waits until the server has maintained it. */
const fill = async ({ port, token }: Program, folder: string, layout: Layout): Promise<void> => {
  const source = join(folder, `${layout.name}.git`)
  await git(folder, 'init', '--quiet', '--bare', '--initial-branch=main', source)
  execFileSync('git', ['fast-import', '--quiet'], { cwd: source, input: historyOf(layout) })
  // As a client has it that did not make all commits at once: the newest version of a folder is stored whole.
  await git(source, 'repack', '-a', '-d', '-f', '-q')
  await git(
    source,
    'push',
    '--quiet',
    `http://root:${token}@127.0.0.1:${port}/root/${layout.name}.git`,
    'main',
  )
}

const isMaintained = (data: string, { id }: { id: number }): boolean => {
  const folder = join(data, 'repositories', (id % 256).toString(16).padStart(2, '0'), `${id}.git`)
  return existsSync(join(folder, 'objects', 'info', 'commit-graphs', 'commit-graph-chain'))
}

const ask = async ({ port, token }: Program, path: string): Promise<Response> => {
  const response = await fetch(local(port) + API + path, { headers: { authorization: `token ${token}` } })
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status}`)
  return response
}

/** Milliseconds of a read after a start of the server. */
const firstRead = async (data: string, known: string, { name }: Layout, path: string): Promise<number> => {
  const served = await program(data, { isPinned: false, known })
  try {
    // The connection, the token and the repository's record are read before.
    await (await ask(served, `/repos/root/${name}`)).arrayBuffer()
    const begun = performance.now()
    await (await ask(served, `/repos/root/${name}/${path}`)).arrayBuffer()
    return performance.now() - begun
  } finally {
    await served.stop()
  }
}

/** What git alone takes for the same: the file, then its last commit. */
const byHand = async (folder: string, layout: Layout, hasCommit: boolean): Promise<number> => {
  const source = join(folder, `${layout.name}.git`)
  const path = pathOf(WANTED, layout)
  const begun = performance.now()
  await git(source, 'cat-file', 'blob', `main:${path}`)
  if (hasCommit) await git(source, 'rev-list', '--max-count=1', 'main', '--', path)
  return performance.now() - begun
}

const measure = async (
  { data, folder, token, rounds }: { data: string; folder: string; token: string; rounds: number },
  layout: Layout,
): Promise<Measurement[]> => {
  const kinds = [
    ['contents', '`git cat-file`, then `git rev-list` without changed paths'],
    ['raw', '`git cat-file`'],
  ] as const
  const rows: Measurement[] = []
  for (const [kind, against] of kinds) {
    const [ours, hand]: [number[], number[]] = [[], []]
    for (let round = 0; round <= rounds; round++) {
      ours.push(await firstRead(data, token, layout, `${kind}/${pathOf(WANTED, layout)}`))
      hand.push(await byHand(folder, layout, kind === 'contents'))
    }
    const value = median(ours.slice(1))
    const name = `first \`GET …/${kind}/{file}\` after a start: ${layout.text}`
    const goal = { goal: `under ${GOAL_MS} ms`, isReached: value < GOAL_MS }
    rows.push({ name, value, reference: median(hand.slice(1)), unit: 'ms', against, ...goal })
  }
  return rows
}

/** The first read of a file in a large repository, when nothing is cached but by the system. */
export const firstReads: Bench = {
  name: 'first-reads',
  async run({ rounds, say }) {
    const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    const data = join(folder, 'd')
    try {
      const served = await program(data, { isPinned: false })
      const { token } = served
      say(`pushing ${LAYOUTS.length} repositories of ${FILES} files`)
      for (const layout of LAYOUTS) {
        await post(served, '/user/repos', { name: layout.name })
        await fill(served, folder, layout)
        const record = await (await ask(served, `/repos/root/${layout.name}`)).json()
        const begun = performance.now()
        while (!isMaintained(data, record) && performance.now() - begun < MAINTENANCE_MS)
          await setTimeout(100)
      }
      await served.stop()
      say('reading their files')
      const rows: Measurement[] = []
      for (const layout of LAYOUTS) rows.push(...(await measure({ data, folder, token, rounds }, layout)))
      return rows
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
