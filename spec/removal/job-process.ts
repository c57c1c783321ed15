import { join } from 'node:path'
import { level } from '../../drivers/level/index.ts'
import { seededRandom } from '../support/seed.ts'
import { openFixture } from './fixture.ts'

/**
 * Deletes and moves what its arguments name, and runs jobs. It kills itself amid a write, so many writes
 * after the last response that how busy the machine is does not matter. It ends with the process that started
 * it, whose pipe is its standard input.
 */
const [folder, told] = process.argv.slice(2)
const { bounds, deleted, moved, to, purged, writes } = JSON.parse(told!)
const driver = level(folder!)
const random = seededRandom()
let left = Number.POSITIVE_INFINITY
const killing: typeof driver = {
  ...driver,
  write: (work) => {
    if (left-- === 0) setTimeout(() => process.kill(process.pid, 'SIGKILL'), random() * 3)
    return driver.write(work)
  },
}
const { hosting } = await openFixture(killing, bounds, { wakes: true, files: join(folder!, 'files') })
await hosting.repositories.transfer(moved, to)
await hosting.repositories.remove(deleted)
await hosting.accounts.remove(purged, { purge: true })
left = writes
process.stdin.resume().once('end', () => process.exit())
