import { join } from 'node:path'
import { level } from '../../drivers/level/index.ts'
import { driverSpec } from '../driver-spec.ts'
import { temporaryFolder } from './temporary-folder.ts'

driverSpec({
  name: 'level',
  durable: true,
  async create() {
    const { folder, remove } = await temporaryFolder()
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
        await remove()
      },
    }
  },
})
