import { type Check, check, isKnown } from '../integrity/index.ts'
import { ownerUsages } from '../records/schema/index.ts'

/** Checks of what is derived from accounts. */
export const accountChecks: readonly Check[] = [
  check(ownerUsages, async ({ owner, day: _, ...usage }, store) => {
    if (await isKnown(store, 'owner', owner)) return
    const isUnused = Object.values(usage).every((size) => size === 0)
    store.report(
      `usage is stored of account ${owner}, which does not exist`,
      isUnused ? async (tx) => (await ownerUsages.remove(tx, [owner])) !== undefined : undefined,
    )
  }),
]
