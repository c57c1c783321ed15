import { describe } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { driverSpec } from '../driver-spec.ts'
import { missing } from '../postgres/cluster.ts'
import { emptyStore } from '../postgres/shared.ts'

describe('on PostgreSQL', { skip: missing }, () => {
  driverSpec({
    name: 'postgres',
    durable: true,
    async create() {
      const { url, drop } = await emptyStore()
      const made = [postgres(url)]
      return {
        driver: made[0]!,
        async reopen() {
          made.push(postgres(url))
          return made.at(-1)!
        },
        recipe: {
          module: import.meta.resolve('../../drivers/postgres/index.ts'),
          name: 'postgres',
          parameters: [url],
        },
        async dispose() {
          await Promise.all(made.map((driver) => driver.close()))
          await drop()
        },
      }
    },
  })
})
