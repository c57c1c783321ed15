/** Forks count for their parent, and lose it when it is deleted. */
import { paced } from '../records/pacing.ts'
import { repositories } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'

/** Counts a fork that is made or deleted. */
export const countFork = async (tx: WriteContext, parent: number, change: 1 | -1): Promise<void> => {
  const repository = await repositories.get(tx, [parent])
  if (repository !== undefined)
    await repositories.save(tx, { ...repository, forks: repository.forks + change })
}

/** Makes forks of a deleted repository independent, `limit` at most. @returns how many */
export const detachForks = async (tx: WriteContext, parent: number, limit: number): Promise<number> => {
  const forks = await repositories.list(tx, 'parent', { prefix: [parent], limit })
  for await (const fork of paced(forks)) await repositories.save(tx, { ...fork, parent: null })
  return forks.length
}
