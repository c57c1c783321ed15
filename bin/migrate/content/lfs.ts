import * as v from 'valibot'
import { type LfsPointer, lfsPointers, listReferences } from '../../../lib/git/lfs-pointers.ts'
import { apiPath, type Migration, reportErrors, succeeds } from '../migration.ts'
import type { CopiedRepository } from '../repositories.ts'
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
export const copyLfs = (migration: Migration, copied: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the LFS objects of ${copied.given.full_name}`, async () => {
    const { git, migrationLog } = migration
    const { repository, given, key } = copied
    if (git === undefined || given.empty) return
    const { id } = repository
    const digest = digestOf([await listReferences(id, git)])
    const known = await migrationLog.get('lfs', '', key)
    if (known?.digest === digest && known.copy?.id === id) return
    let isComplete = true
    for await (const batch of inBatches(lfsPointers(id, git)))
      if (!(await copyBatch(migration, copied, batch))) isComplete = false
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

/**
 * The objects that are here, those that are not, and how the source sends each of these; undefined or null
 * for one that it does not have.
 */
export const sortBatch = async (
  { source, allot }: Pick<Migration, 'source' | 'allot'>,
  { repository, given }: Pick<CopiedRepository, 'repository' | 'given'>,
  pointers: readonly LfsPointer[],
) => {
  const oids = pointers.map(({ oid }) => oid)
  const found = await allot.hosting.lfs.find(repository.id, oids)
  const objects = pointers.filter((_, index) => found[index] === undefined)
  const path = `${apiPath(given.owner.login, given.name)}.git/info/lfs/objects`
  const request = { operation: 'download', transfers: ['basic'], objects }
  const sent =
    objects.length === 0 ? [] : v.parse(Batch, await source.askLfs(`${path}/batch`, request)).objects
  return {
    here: pointers.filter((_, index) => found[index] !== undefined),
    missing: objects,
    actions: new Map(sent.map(({ oid, actions }) => [oid, actions?.download])),
  }
}

/** @returns whether all of the objects are here now */
const copyBatch = async (
  migration: Migration,
  repository: CopiedRepository,
  pointers: readonly LfsPointer[],
): Promise<boolean> => {
  const { source, allot, report } = migration
  const { here, missing, actions } = await sortBatch(migration, repository, pointers)
  for (const _ of here) report.count('LFS objects', 'found')
  const queue = missing.values()
  let isComplete = true
  const worker = async () => {
    for (const pointer of queue) {
      const action = actions.get(pointer.oid)
      const label = `${pointer.oid} of ${repository.given.full_name}`
      if (!action) report.note('notCopied', MISSING, label)
      const isCopied = await succeeds(report, `the LFS object ${label}`, async () => {
        if (!action) return
        // The address of the source can be another one than the source itself names.
        const { pathname, search } = new URL(action.href)
        await source.download(
          pathname + search,
          (content) => allot.hosting.lfs.addCopy(repository.repository.id, pointer, content),
          action.header?.Authorization,
        )
        report.count('LFS objects', 'copied')
      })
      if (!isCopied || !action) isComplete = false
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return isComplete
}
