import { describe } from 'node:test'
import { type PostgresOptions, postgres } from '../../drivers/postgres/index.ts'
import { type Candidate, driverSpec } from '../driver-spec.ts'
import { missing } from '../postgres/cluster.ts'
import { emptyStore } from '../postgres/shared.ts'

const candidate = (name: string, options: PostgresOptions): Candidate => ({
  name,
  durable: true,
  shared: true,
  async create() {
    const { url, drop } = await emptyStore()
    const made = [postgres(url, options)]
    return {
      driver: made[0]!,
      async reopen() {
        made.push(postgres(url, options))
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

describe('on PostgreSQL', { skip: missing }, () => {
  driverSpec(candidate('postgres', {}))
  // The rest of the ways to run it: `npm run spec:postgres`.
  if (process.env.ALLOT_SPEC_STORAGE !== 'postgres') return
  driverSpec(candidate('postgres, with every transaction in statements of its own', { plain: true }))
  driverSpec(candidate('postgres, with hardly anything kept in mind', { recollection: 64 * 1024 }))
})
