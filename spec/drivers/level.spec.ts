import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { level } from '../../drivers/level/index.ts'
import { driverSpec } from '../driver-spec.ts'
import { temporaryDirectory } from '../support/folder.ts'

driverSpec({
  name: 'level',
  durable: true,
  async create() {
    const folder = temporaryDirectory()
    const location = join(folder, 'parents', 'that are', 'missing')
    const made = [level(location)]
    return {
      driver: made[0]!,
      async reopen() {
        made.push(level(location))
        return made.at(-1)!
      },
      recipe: {
        module: import.meta.resolve('../../drivers/level/index.ts'),
        name: 'level',
        parameters: [location],
      },
      async dispose() {
        await Promise.all(made.map((driver) => driver.close()))
        rmSync(folder, { recursive: true })
      },
    }
  },
})
