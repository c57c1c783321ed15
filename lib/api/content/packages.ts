import * as v from 'valibot'
import { type PackageDetails, packageDetails } from '../../content/details.ts'
import {
  type Account,
  type PackageFile as FileRecord,
  PACKAGE_TYPES,
  type PackageVersion,
} from '../../records/schema/index.ts'
import { number, parameter, shortText, Time, text, timestamp } from '../fields.ts'
import { at, type Recipient } from '../route.ts'
import { presentUser, User } from '../users.ts'
import { every, type View, view } from '../view.ts'

const Package = v.object({
  id: number(12),
  owner: User,
  /** Always null: packages belong to an owner, not to a repository. */
  repository: v.null(),
  creator: User,
  type: text('generic'),
  name: text('tool'),
  version: text('1.0.0'),
  html_url: text('https://code.example.org/alice/-/packages/generic/tool/1.0.0'),
  created_at: Time,
})
type Package = v.InferOutput<typeof Package>

/** `Size` is capitalized, as on Forgejo. */
const PackageFile = v.object({
  id: number(13),
  Size: number(5),
  name: text('tool.tar.gz'),
  md5: text('5d41402abc4b2a76b9719d911017c592'),
  sha1: text('aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d'),
  sha256: text('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'),
  sha512: text(
    '9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043',
  ),
})

export const presentPackage = (
  { version: record, owner, creator }: PackageDetails,
  recipient: Recipient,
): Package => {
  const { type, name, version } = record
  return {
    id: record.id,
    owner: presentUser(owner, recipient),
    repository: null,
    creator: presentUser(creator, recipient),
    type,
    name,
    version,
    html_url: recipient.htmlUrls.of(
      { kind: 'package', owner: owner.name, type, name, version },
      recipient.baseUrl,
    ),
    created_at: timestamp(record.createdAt),
  }
}

const presentFile = ({ id, size, name, md5, sha1, sha256, sha512 }: FileRecord) => ({
  id,
  Size: size,
  name,
  md5,
  sha1,
  sha256,
  sha512,
})

interface OfOwner {
  readonly owner: Account
  readonly version: PackageVersion
}

/** Packages of one owner. */
const packageView: View<typeof Package, OfOwner> = {
  schema: Package,
  async all(found, recipient, read) {
    const [first] = found
    if (first === undefined) return []
    const versions = found.map(({ version }) => version)
    const details = await read((tx) => packageDetails(tx, recipient.user, first.owner, versions))
    return details.map((version) => presentPackage(version, recipient))
  },
}

const packages = at('/packages/{owner}', { tag: 'package', scope: 'package' })
const VERSION_PATH = '/{type}/{name}/{version}'

export const packageRoutes = [
  packages.list('listPackages', '', {
    summary: 'The packages of a user or an organization, each version by itself, the newest first',
    query: v.object({
      type: v.optional(parameter(shortText, `Type of the packages: \`${PACKAGE_TYPES.join('`, `')}\`.`)),
      q: v.optional(parameter(shortText, 'Part of the name.')),
    }),
    of: packageView,
    run: async ({ user, params, query, page }, { hosting }) => {
      const found = await hosting.packages.list(user, params.owner, query, page)
      if (found === undefined) return undefined
      const { owner } = found
      return { ...found.page, items: found.page.items.map((version) => ({ owner, version })) }
    },
  }),
  packages.get('getPackage', VERSION_PATH, {
    summary: 'A version of a package',
    of: packageView,
    run: ({ user, params }, { hosting }) => hosting.packages.find(user, params),
  }),
  packages.get('listPackageFiles', `${VERSION_PATH}/files`, {
    summary: 'The files of a version of a package',
    of: every(view(PackageFile, presentFile)),
    run: ({ user, params }, { hosting }) => hosting.packages.files(user, params),
  }),
  packages.delete('deletePackage', VERSION_PATH, {
    summary: 'Delete a version of a package with its files',
    run: ({ user, params }, { hosting }) => hosting.packages.remove(user, params),
  }),
]
