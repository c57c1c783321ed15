import type { Migrated } from '../../lib/records/schema/index.ts'
import type { NewMigrated } from '../../lib/repositories/migrated.ts'
import type { Migration } from './migration.ts'

/** A record here and the rights that go with it, such as `admin` of a user or `everyone can see it` of a repository. */
export interface Granted extends Pick<NewMigrated, 'kind' | 'scope' | 'name'> {
  id: number
  /** As the report names it. */
  label: string
  here: readonly string[]
  source: readonly string[]
}

/**
 * Compares the rights here with those at the source. A right that came from the source and is gone there is taken back; a
 * right that was given here stays, and is in the report; a right that is less here than at the source is not given.
 * @param revoke takes rights back here
 */
export const followGrants = async (
  { history, report }: Migration,
  { kind, scope, name, id, label, here, source }: Granted,
  revoke: (grants: readonly string[]) => Promise<unknown>,
): Promise<void> => {
  const known = await history.get(kind, scope, name)
  const brought = grantsOf(known, id, here)
  const more = here.filter((one) => !source.includes(one))
  const withdrawn = more.filter((one) => brought.includes(one))
  if (withdrawn.length > 0) {
    await revoke(withdrawn)
    for (const one of withdrawn) report.tookBack(one, label)
  }
  if (brought.length > 0 || known?.ids.length === 0) {
    const grants = brought.filter((one) => source.includes(one))
    await history.save([{ kind, scope, name, ids: known!.ids.length === 0 ? [id] : known!.ids, grants }])
  }
  for (const one of more) if (!brought.includes(one)) report.differs(`${one} here, not at the source`, label)
  for (const one of source) if (!here.includes(one)) report.differs(`${one} at the source, not here`, label)
}

/** What a run began to bring and did not note came with everything that it has here. */
const grantsOf = (known: Migrated | undefined, id: number, here: readonly string[]): readonly string[] => {
  if (known === undefined) return []
  if (known.ids.length === 0) return here
  return known.ids.includes(id) ? known.grants : []
}
