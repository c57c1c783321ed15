/** What the host is asked before a repository gets another owner or another visibility. */
import type { Target } from '../accounts/authorize.ts'
import { repositoryById } from '../accounts/find.ts'
import { isWiderThanParent } from '../accounts/visibility.ts'
import type { BeforeStore, CheckAgain } from '../quota/before-store.ts'
import type { Usage } from '../quota/subjects.ts'
import { addDelta, negative, usageOfRepository } from '../quota/usage.ts'
import { type Repository, repositoryUsages } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** Bytes of git data as usage. */
export const gitUsage = (isPrivate: boolean, size: number): Partial<Usage> =>
  isPrivate ? { reposPrivate: size } : { reposPublic: size }

export const resolve = (tx: ReadTransaction, which: Target<Repository>): Promise<Repository | undefined> =>
  typeof which === 'number' ? repositoryById(tx, which) : which(tx)

/**
 * Asks before all that a repository has counts for another owner, or its git data toward another subject.
 * @param to the owner and the visibility that it gets
 * @throws AllotError over_quota
 */
export const askBeforeChange = async (
  { store, beforeStore }: { readonly store: Store; readonly beforeStore: BeforeStore },
  which: Target<Repository>,
  to: (tx: ReadTransaction, before: Repository) => Promise<{ owner?: number; private?: boolean | undefined }>,
  by: number | undefined,
): Promise<CheckAgain | undefined> => {
  if (!beforeStore.isOn) return undefined
  const storing = await store.read(async (tx) => {
    const repository = await resolve(tx, which)
    const usage = repository && (await repositoryUsages.get(tx, [repository.id]))
    if (repository === undefined || usage === undefined) return undefined
    const { owner = usage.owner, private: wanted = usage.private } = await to(tx, repository)
    const isPrivate = wanted || (await isWiderThanParent(tx, { ...repository, owner, private: false }))
    const [before, after] = [usage, { ...usage, owner, private: isPrivate }].map(usageOfRepository)
    const isMoved = owner !== usage.owner
    const change = isMoved ? after! : addDelta(after!, negative(before!))
    return {
      owner,
      change,
      by,
      repository: repository.id,
      kind: isMoved ? 'transfer' : 'visibility',
    } as const
  })
  return storing && beforeStore.ask(storing)
}
