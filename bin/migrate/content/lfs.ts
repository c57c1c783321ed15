import * as v from 'valibot'
import { type LfsPointer, lfsPointers, listReferences } from '../../../lib/git/lfs-pointers.ts'
import { apiPath, type Migration, reportErrors, succeeds } from '../migration.ts'
import type { CopiedRepository } from '../repositories.ts'
import type { SourceRepository } from '../shapes.ts'
import type { Source } from '../source.ts'
import { digestOf } from '../things.ts'

const MISSING = 'LFS objects that the source names, but does not have'

/** Objects that one request asks for. */
const BATCH_SIZE = 100
/** Objects that are downloaded at the same time for one repository. */
const CONCURRENCY = 4

const Batch = v.object({
  objects: v.array(
    v.object({
      oid: v.string(),
      actions: v.nullish(
        v.object({
          download: v.nullish(
            v.object({ href: v.string(), header: v.nullish(v.record(v.string(), v.string())) }),
          ),
        }),
      ),
    }),
  ),
})

/**
 * Copies the LFS objects that the git data of a repository refers to, all of its commits, and that are
 * missing here.
 */
export const copyLfs = (migration: Migration, { repository, given, key }: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the LFS objects of ${given.full_name}`, async () => {
    const { git, migrationLog } = migration
    if (git === undefined || given.empty) return
    const { id } = repository
    const digest = digestOf([await listReferences(id, git)])
    const known = await migrationLog.get('lfs', '', key)
    if (known?.digest === digest && known.copy?.id === id) return
    let isComplete = true
    for await (const batch of inBatches(lfsPointers(id, git)))
      if (!(await copyBatch(migration, { repository, given }, batch))) isComplete = false
    if (isComplete) await migrationLog.save([{ kind: 'lfs', scope: '', name: key, copy: { id }, digest }])
  })

/** The objects, as many at a time as one request asks for. */
export async function* inBatches(pointers: AsyncIterable<LfsPointer>): AsyncGenerator<LfsPointer[]> {
  let batch: LfsPointer[] = []
  for await (const pointer of pointers) {
    batch.push(pointer)
    if (batch.length < BATCH_SIZE) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** How the source sends each object; undefined or null for one that it does not have. */
export const askForObjects = async (
  source: Source,
  given: SourceRepository,
  wanted: readonly LfsPointer[],
) => {
  const path = `${apiPath(given.owner.login, given.name)}.git/info/lfs/objects`
  const request = { operation: 'download', transfers: ['basic'], objects: wanted }
  const { objects } = v.parse(Batch, await source.askLfs(`${path}/batch`, request))
  return new Map(objects.map(({ oid, actions }) => [oid, actions?.download]))
}

/** @returns whether all of the objects are here now */
const copyBatch = async (
  { source, allot, report }: Migration,
  { repository: { id }, given }: Pick<CopiedRepository, 'repository' | 'given'>,
  pointers: readonly LfsPointer[],
): Promise<boolean> => {
  const { lfs } = allot.hosting
  const found = await lfs.find(
    id,
    pointers.map(({ oid }) => oid),
  )
  const missing = pointers.filter((_, index) => found[index] === undefined)
  for (let here = missing.length; here < pointers.length; here++) report.count('LFS objects', 'found')
  if (missing.length === 0) return true
  const actions = await askForObjects(source, given, missing)
  const queue = missing.values()
  let isComplete = true
  const worker = async () => {
    for (const pointer of queue) {
      const action = actions.get(pointer.oid)
      const label = `${pointer.oid} of ${given.full_name}`
      if (!action) report.note('notCopied', MISSING, label)
      const isCopied = await succeeds(report, `the LFS object ${label}`, async () => {
        if (!action) return
        // The address of the source can be another one than the source itself names.
        const { pathname, search } = new URL(action.href)
        await lfs.addCopy(id, pointer, await source.download(pathname + search, action.header?.Authorization))
        report.count('LFS objects', 'copied')
      })
      if (!isCopied || !action) isComplete = false
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return isComplete
}
