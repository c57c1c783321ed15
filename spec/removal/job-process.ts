import { writeSync } from 'node:fs'
import { level } from '../../drivers/level/index.ts'
import { openFixture } from './fixture.ts'

/** Deletes and moves what its arguments name, prints a line when all of it is acknowledged, and runs jobs until it is killed. */
const [folder, told] = process.argv.slice(2)
const { bounds, deleted, moved, to, purged } = JSON.parse(told!)
const { hosting } = await openFixture(level(folder!), bounds, true)
await hosting.repositories.transfer(moved, to)
await hosting.repositories.remove(deleted)
await hosting.accounts.remove(purged, { purge: true })
writeSync(1, 'acknowledged\n')
setInterval(() => undefined, 1000)
