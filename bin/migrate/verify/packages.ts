import { possiblePackages } from '../content/packages.ts'
import { apiPath, ifAvailable, reportErrors } from '../migration.ts'
import { SourcePackage, SourcePackageFile } from '../shapes.ts'
import type { Source } from '../source.ts'
import { dateOf, type Item } from './comparison.ts'
import type { Sides } from './sides.ts'

/** Compares the packages of an owner, with the digests of their files. */
export const comparePackages = (sides: Sides, owner: string): Promise<void> =>
  reportErrors(sides.report, `the packages of ${owner}`, async () => {
    const { source, here, report, names } = sides
    const account = await names.account(owner)
    if (account === undefined) return
    const found = (await ifAvailable(source.list(SourcePackage, apiPath('packages', owner)))) ?? []
    const possible = possiblePackages(sides, owner, account, found)
    if (possible === undefined) return
    const given: Item[] = []
    for (const one of possible) given.push(await itemOf(source, owner, one, await names.person(one.creator)))
    report.count('package', given.length)
    const copied: Item[] = []
    for await (const one of here.items(SourcePackage, apiPath('packages', account.name)))
      copied.push(await itemOf(here, account.name, one, one.creator.toLowerCase()))
    report.lists('package', owner, given, copied)
  })

const itemOf = async (side: Source, owner: string, given: SourcePackage, creator: string): Promise<Item> => {
  const { type, name, version } = given
  const path = apiPath('packages', owner, type, name, version)
  const files = await side.list(SourcePackageFile, `${path}/files`)
  const texts = files.map((file) => `${file.name}, ${file.size} bytes, sha256 ${file.sha256}`)
  return {
    name: `${name} ${version}`,
    fields: { creator, created: dateOf(given.created_at), files: texts.sort() },
  }
}
