import { ownersFor, type Viewer } from '../accounts/access.ts'
import { type Relation, type RelationCollection, repositories } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'

/** The relations of an account to private repositories that the viewer belongs to, unless its own ones are fewer. */
export const relationsToOwn = async (
  tx: ReadTransaction,
  relation: RelationCollection,
  viewer: NonNullable<Viewer>,
  account: number,
): Promise<Relation[] | undefined> => {
  const owners = await ownersFor(tx, viewer.id)
  const counts = await Promise.all(owners.map((owner) => repositories.count(tx, 'owner', [owner, 2])))
  const readable = counts.reduce((sum, count) => sum + count, 0)
  if (readable > (await relation.count(tx, 'account', [account, 2]))) return undefined
  const found: Relation[] = []
  for (const owner of owners.filter((_, place) => counts[place]! > 0)) {
    const own = await repositories.list(tx, 'id', { prefix: [owner, 2] })
    const places = own.map(({ id }) => [account, id])
    found.push(...(await relation.getMany(tx, places)).filter((one) => one !== undefined))
  }
  return found
}
