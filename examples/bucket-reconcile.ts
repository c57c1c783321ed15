// Compares the ledger with the listing of a bucket, and corrects the ledger: once a night, or after something
// went wrong. Run it with: npx tsx examples/bucket-reconcile.ts
import { createQuota, type LedgerOperation, type OwnerEntry } from 'allot'
import { memory } from 'allot/drivers/memory'

const quota = await createQuota({ driver: memory() })
const { ledger } = quota

/** An object as ListObjectsV2 of S3 returns it. */
interface Listed {
  Key: string
  Size: number
}

// Yours: the objects of an owner. With @aws-sdk/client-s3 this is `paginateListObjectsV2`, see
// docs/recipes.md.
const yourBucket = new Map([
  ['a.zip', 400],
  ['b.zip', 600],
])
async function* listYourBucket(): AsyncGenerator<Listed> {
  for (const [Key, Size] of yourBucket) yield { Key, Size }
}

const kind = 'artifacts'

/** Sizes that the ledger has, by key. */
const recorded = async (prefix: string): Promise<Map<string, number>> => {
  const sizes = new Map<string, number>()
  for (let after: string | undefined; ; ) {
    const page = await ledger.list({ kind, prefix, after })
    for (const { key, size } of page) sizes.set(key, size)
    after = page.at(-1)?.key
    if (after === undefined) return sizes
  }
}

/**
 * Makes the entries of an owner those of the listing.
 * @returns how many were wrong
 */
const reconcile = async (owner: string, listing: AsyncIterable<Listed>): Promise<number> => {
  const prefix = `bucket/${owner}/`
  // Read before the listing: an upload that is recorded meanwhile is then not taken for an object that is
  // gone.
  const stale = await recorded(prefix)
  const operations: LedgerOperation<OwnerEntry>[] = []
  for await (const { Key, Size } of listing) {
    const key = prefix + Key
    if (stale.get(key) !== Size) operations.push({ op: 'put', kind, key, owner, name: Key, size: Size })
    stale.delete(key)
  }
  for (const key of stale.keys()) operations.push({ op: 'delete', kind, key })
  // Each batch is one transaction.
  for (let start = 0; start < operations.length; start += 1000)
    await ledger.batch(operations.slice(start, start + 1000))
  return operations.length
}

const report = async (when: string) => {
  const corrected = await reconcile('alice', listYourBucket())
  const { used } = await quota.explain('alice', 'size:all')
  console.log(`${when}: ${corrected} entries corrected, alice uses ${used} bytes`)
}

await report('first run')
await report('second run')
yourBucket.delete('a.zip')
yourBucket.set('b.zip', 650)
yourBucket.set('c.zip', 50)
await report('after changes in the bucket')
await quota.close()
