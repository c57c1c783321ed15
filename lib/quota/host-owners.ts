import { now } from '../clock.ts'
import { checkName } from '../errors.ts'
import type { Jobs } from '../records/jobs.ts'
import type { Page, Slice } from '../records/pages.ts'
import { removeBelongings } from '../records/schema/belongings.ts'
import { quotaOwners } from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { QuotaEngine } from './index.ts'
import { NO_OWNER, type Owner, type OwnerDirectory } from './owners.ts'

/**
 * The owners of a host that names them itself, such as `tenant-42`. A name is any text of 1 to 255 characters
 * without control characters, compared as it is, and comes into being with the first change that names it.
 * Until then it has no usage and no group.
 */
export const hostOwnerDirectory: OwnerDirectory = {
  title: 'owner',

  /** @throws AllotError invalid when the name is not valid */
  async find(tx: ReadTransaction, name: string): Promise<Owner> {
    checkName(name, 'owner')
    return (await quotaOwners.findBy(tx, 'name', [name])) ?? { id: NO_OWNER, name }
  },

  /** @throws AllotError invalid when the name is not valid */
  async claim(tx: WriteContext, name: string): Promise<Owner> {
    const found = await hostOwnerDirectory.find(tx, name)
    if (found !== undefined && found.id !== NO_OWNER) return found
    const owner = { id: await takeNumber(tx, 'account'), name, createdAt: now() }
    await quotaOwners.save(tx, owner)
    return owner
  },

  byIds: (tx, ids) => quotaOwners.byIds(tx, ids),

  async *ids(tx) {
    for await (const { id } of quotaOwners.all(tx)) yield id
  },
}

/** Lists and removes the owners that a host has named. */
export class HostOwners {
  readonly #store: Store
  readonly #jobs: Jobs

  constructor(store: Store, jobs: Jobs, quota: QuotaEngine) {
    this.#store = store
    this.#jobs = jobs
    jobs.handle('removeAccountData', {
      step: async (tx, id, limit) => {
        if ((await quotaOwners.get(tx, [id])) !== undefined) return 0
        return quota.removeOwner(tx, id, limit)
      },
    })
  }

  /** The names of owners that exist, in alphabetical order (by UTF-8 bytes). */
  list(slice: Slice): Promise<Page<string>> {
    return this.#store.read(async (tx) => {
      const { items, total } = await quotaOwners.page(tx, 'name', { prefix: [], ...slice }, 'all')
      return { items: items.map(({ name }) => name), total }
    })
  }

  /**
   * Removes an owner with its usage, entries, groups and history. It disappears at once; a job removes its
   * entries in steps. The next change that names it creates a new owner.
   * @returns whether the owner existed
   */
  remove(name: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      checkName(name, 'owner')
      const owner = await quotaOwners.findBy(tx, 'name', [name])
      if (owner === undefined) return false
      await removeBelongings(tx, 'owner', owner.id, 'now')
      await quotaOwners.remove(tx, [owner.id])
      await this.#jobs.runNow(tx, 'removeAccountData', owner.id)
      return true
    })
  }
}
