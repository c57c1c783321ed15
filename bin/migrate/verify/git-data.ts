import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { type LfsPointer, lfsPointers } from '../../../lib/git/lfs-pointers.ts'
import { damagedObjects, localReferences, remoteReferences } from '../../../lib/git/remote-check.ts'
import { isRefused, OF_INACTIVE } from '../content/git-data.ts'
import { inBatches, sortBatch } from '../content/lfs.ts'
import { apiPath, reportErrors } from '../migration.ts'
import type { CopiedRepository } from '../repositories.ts'
import type { Sides } from './sides.ts'

/** Compares every branch, tag and note, and reads every object here. Equal ids are equal objects. */
export const compareGitData = async (
  { source, report, git }: Sides,
  { given, repository }: CopiedRepository,
): Promise<void> => {
  if (git === undefined) return
  const { full_name: name } = given
  const url = `${source.base + apiPath(given.owner.login, given.name)}.git`
  try {
    const there = await remoteReferences(git.git, { url, authorization: source.authorization })
    const here = await localReferences(git.git, git.directory, repository.id)
    report.count('git data', 'found')
    const references = [...new Set([...there.keys(), ...here.keys()])].sort()
    const targets = (side: ReadonlyMap<string, string>) =>
      Object.fromEntries(references.map((reference) => [reference, side.get(reference) ?? 'absent']))
    report.fields('git', name, targets(there), targets(here))
    const [damage, ...more] = await damagedObjects(git.git, git.directory, repository.id)
    const objects =
      damage === undefined ? 'sound' : `${damage}${more.length > 0 ? `, and ${more.length} more` : ''}`
    report.fields('git', name, { objects: 'sound' }, { objects })
  } catch (error) {
    const { message } = error as Error
    if (isRefused(message, given)) report.note('notCopied', OF_INACTIVE, name)
    else report.failed(`the git data of ${name}`, message)
  }
}

/**
 * Compares the LFS objects that the git data refers to, and the content of each here with its id, which is
 * its digest.
 */
export const compareLfs = (sides: Sides, pair: CopiedRepository): Promise<void> =>
  reportErrors(sides.report, `the LFS objects of ${pair.given.full_name}`, async () => {
    const { git } = sides
    if (git === undefined) return
    for await (const batch of inBatches(lfsPointers(pair.repository.id, git)))
      await compareBatch(sides, pair, batch)
  })

const compareBatch = async (
  sides: Sides,
  pair: CopiedRepository,
  pointers: readonly LfsPointer[],
): Promise<void> => {
  const { report } = sides
  const { missing, actions, here } = await sortBatch(sides, pair, pointers)
  const label = (oid: string) => `${oid} of ${pair.given.full_name}`
  for (const { oid } of missing) if (actions.get(oid)) report.missing('lfs', label(oid))
  for (const { oid } of here) {
    report.count('LFS objects', 'found')
    const hash = createHash('sha256')
    const path = `/${pair.owner.name}/${pair.repository.name}.git/info/lfs/objects/${oid}`
    await sides.here.download(path, (content) => pipeline(content, hash))
    report.fields('lfs', label(oid), { sha256: oid }, { sha256: hash.digest('hex') })
  }
}
