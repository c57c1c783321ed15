import { Lifetime, type StorageDriver } from '../../lib/storage/index.ts'
import type { Committing } from './commit.ts'
import { Commits } from './commits.ts'
import { connect } from './connections.ts'
import { Looking } from './looking.ts'
import { type PostgresOptions, type Settings, settingsOf } from './options.ts'
import { Outcomes, readByRecollection } from './reads.ts'
import { Recollection } from './recollection.ts'
import { readAtOnce, writeAtOnce } from './transactions.ts'

export type { PostgresOptions } from './options.ts'

/**
 * Records in a PostgreSQL database, which any number of processes share.
 * @param url such as `postgres://user:password@host:5432/database?sslmode=verify-full`
 */
export const postgres = (url: string, options: PostgresOptions = {}): StorageDriver => {
  const settings = settingsOf(url, options)
  const life = new Lifetime(
    () => begin(settings),
    ({ connections }) => connections.close(),
  )
  return {
    name: 'postgres',
    shared: true,
    open: () => life.open(),
    read: (work, { again = false, as } = {}) =>
      life.use((house) =>
        again && house.commits !== undefined
          ? readByRecollection(house, work, as)
          : readAtOnce(house.connections, work),
      ),
    write: (work) =>
      life.use(
        ({ connections, commits }) => commits?.run(work) ?? writeAtOnce(connections, settings.retries, work),
      ),
    close: () => life.close(),
  }
}

/** Without `commits` every transaction is begun and ended in statements of its own. */
interface House extends Committing {
  readonly commits: Commits | undefined
  readonly outcomes: Outcomes
}

const begin = async (settings: Settings): Promise<House> => {
  const connections = await connect(settings)
  const recollection = new Recollection(settings.recollection / 2)
  const outcomes = new Outcomes(settings.recollection / 2)
  const house = { connections, recollection, looking: new Looking(connections, recollection) }
  const isPlain = settings.plain || !connections.isPostgres
  return { ...house, outcomes, commits: isPlain ? undefined : new Commits(house, settings.retries) }
}
