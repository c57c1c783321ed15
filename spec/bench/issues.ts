import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { level } from '../../drivers/level/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { issueSequences, issues, type Repository } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { createSender } from '../support/request.ts'

/**
 * How long others wait while a repository with very many issues is listed, searched, deleted and swept:
 * `npx tsx spec/bench/issues.ts [issues]`.
 */
const MANY = Number(process.argv[2] ?? 100_000)
const WORDS = 'crash login slow page error user token upload push clone quota index the on with after'.split(
  ' ',
)

const folder = mkdtempSync(join(tmpdir(), 'allot-bench-issues-'))
const driver = level(join(folder, 'store'))
const allot = await openAllot({ driver, repositories: false, files: { directory: join(folder, 'files') } })

const titleOf = (n: number) =>
  [0, 3, 5, 7, 11].map((by) => WORDS[(n * (by + 1) + by) % WORDS.length]).join(' ')

const fill = async (kept: StorageDriver, { id: repository }: Repository, author: number) => {
  const store = new Store(kept)
  for (let from = 0; from < MANY; from += 500)
    await store.write(async (tx) => {
      for (let n = from + 1; n <= Math.min(from + 500, MANY); n++)
        await issues.save(tx, {
          ...{
            id: n,
            repository,
            number: n,
            title: titleOf(n),
            body: 'x'.repeat(200),
            state: 'open',
            author,
          },
          ...{ createdAt: n, updatedAt: n, closedAt: null },
        })
    })
  await store.write(async (tx) => void (await issueSequences.save(tx, { repository, last: MANY })))
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

const shown = (waits: number[]): string => {
  const sorted = waits.sort((one, other) => one - other)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1)
  return `median ${at(0.5)} ms, 99 % ${at(0.99)} ms, longest ${at(1)} ms of ${sorted.length}`
}

const { accounts, repositories, tokens } = allot.hosting
const ann = await accounts.createUser({ name: 'ann' })
const large = await repositories.create(ann, ann, { name: 'large' })
await repositories.create(ann, ann, { name: 'other' })
const { secret: token } = await tokens.create(ann.id, 'bench', ['all'])
const server = createServer(allot.handler)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const ask = createSender(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`)

console.log(
  `${MANY} issues: filled in ${((await timed(() => fill(driver, large, ann.id))) / 1000).toFixed(1)} s`,
)
for (const [what, query] of [
  ['the first page', ''],
  ['page 1000', '?page=1000&limit=50'],
  ['a word', '?q=crash'],
  ['three words', '?q=crash+login+after'],
] as const)
  console.log(
    `${what}: ${(await timed(() => ask('GET', `/repos/ann/large/issues${query}`, { token }))).toFixed(1)} ms`,
  )

let n = 0
const other = () =>
  timed(async () => {
    await ask('GET', '/repos/ann/other', { token })
    await ask(n++ % 2 ? 'PUT' : 'DELETE', '/user/starred/ann/other', { token })
  })
const during = async (until: () => Promise<boolean>): Promise<number[]> => {
  const waits: number[] = []
  while (!(await until())) waits.push(await other())
  return waits
}
console.log(`others, before: ${shown(await during(async () => n >= 300))}`)
console.log(`deleted in ${(await timed(() => ask('DELETE', '/repos/ann/large', { token }))).toFixed(1)} ms`)
const begun = performance.now()
const left = async () => (await driver.read((tx) => issues.count(tx, 'state', [large.id, 'open']))) === 0
console.log(`others, while it is swept: ${shown(await during(left))}`)
console.log(`swept in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
console.log(`a recount finds ${(await allot.verify()).faults} faults`)
server.closeAllConnections()
server.close()
await allot.close()
rmSync(folder, { recursive: true })
