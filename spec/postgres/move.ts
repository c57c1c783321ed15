import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { postgres } from '../../drivers/postgres/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { importAllot, type StorageDriver } from '../../lib/index.ts'
import { parseShard, setShard } from '../../lib/records/shards.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { emptyStore } from './empty-store.ts'

/**
 * `npx tsx spec/postgres/move.ts`: moves an owner with 10 repositories and 100 ledger entries between two
 * shards on PostgreSQL, and prints the seconds, the seconds of a processor, and the bytes.
 */
const [REPOSITORIES, ENTRIES, ROUNDS] = [10, 100, 5]
const quiet = { error: () => undefined, info: () => undefined }

const measured = async (body: () => Promise<unknown>): Promise<{ seconds: number; processor: number }> => {
  const [begun, used] = [performance.now(), process.cpuUsage()]
  await body()
  const { user, system } = process.cpuUsage(used)
  return { seconds: (performance.now() - begun) / 1000, processor: (user + system) / 1e6 }
}

const aShard = async (shard: string) => {
  const { url, drop } = await emptyStore()
  const folder = temporaryDirectory()
  const place = (driver: StorageDriver) => ({
    driver,
    repositories: { directory: join(folder, 'repositories') },
    files: { directory: join(folder, 'files') },
  })
  const driver = postgres(url)
  await driver.open()
  await driver.write((tx) => setShard(tx, parseShard(shard)))
  const allot = await openAllot({ ...place(driver), log: quiet })
  const close = async () => {
    await allot.close()
    await drop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { allot, another: () => place(postgres(url)), close }
}

const median = (values: number[]): string =>
  values.sort((left, right) => left - right)[Math.floor(values.length / 2)]!.toFixed(2)

const [from, to] = [await aShard('1/16'), await aShard('2/16')]
const exports: Awaited<ReturnType<typeof measured>>[] = []
const imports: typeof exports = []
let bytes = 0
for (let round = 0; round < ROUNDS; round++) {
  const { hosting, ledger } = from.allot
  const owner = await hosting.accounts.createUser({ name: `owner-${round}` })
  for (let index = 0; index < REPOSITORIES; index++)
    await hosting.repositories.create(owner, owner, { name: `r${index}`, autoInit: true })
  for (let index = 0; index < ENTRIES; index++) {
    const repository = `${owner.name}/r${index % REPOSITORIES}`
    await ledger.put({ kind: 'artifacts', key: `${round}-${index}`, repository, name: 'a', size: 1, run: 1 })
  }
  const chunks: Uint8Array[] = []
  const write = async (chunk: Uint8Array) => void chunks.push(chunk)
  exports.push(await measured(() => from.allot.exportOwners([owner.name], write)))
  imports.push(await measured(() => importAllot(to.another(), chunks.values() as never)))
  bytes = chunks.reduce((sum, { length }) => sum + length, 0)
}
console.log(
  `export: ${median(exports.map(({ seconds }) => seconds))} s, ${median(exports.map(({ processor }) => processor))} s of a processor`,
)
console.log(
  `import: ${median(imports.map(({ seconds }) => seconds))} s, ${median(imports.map(({ processor }) => processor))} s of a processor`,
)
console.log(`bytes: ${bytes}`)
const { messages } = await to.allot.verify()
console.log(`verify: ${messages.length} faults`)
await from.close()
await to.close()
