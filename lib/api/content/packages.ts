import * as v from 'valibot'
import { type PackageDetails, packageDetails } from '../../content/details.ts'
import {
  type Account,
  type PackageFile as FileRecord,
  PACKAGE_TYPES,
  type PackageVersion,
} from '../../records/schema/index.ts'
import * as f from '../fields.ts'
import { at } from '../route.ts'
import { userView } from '../users.ts'
import { every, resource, shown, type View } from '../view.ts'

const packages = resource<PackageDetails>()({
  id: [f.number(12), ({ version }) => version.id],
  owner: shown(userView, ({ owner }) => owner),
  /** Always null: packages belong to an owner, not to a repository. */
  repository: [v.null(), () => null],
  creator: shown(userView, ({ creator }) => creator),
  type: [f.text('generic'), ({ version }) => version.type],
  name: [f.text('tool'), ({ version }) => version.name],
  version: [f.text('1.0.0'), ({ version }) => version.version],
  html_url: [
    f.link('/alice/-/packages/generic/tool/1.0.0'),
    ({ owner, version: { type, name, version } }, { htmlUrls, baseUrl }) =>
      htmlUrls.of({ kind: 'package', owner: owner.name, type, name, version }, baseUrl),
  ],
  created_at: [f.Time, ({ version }) => f.timestamp(version.createdAt)],
})
export const presentPackage = packages.present

/** `Size` is capitalized, as on Forgejo. */
const fileView = resource<FileRecord>()({
  id: [f.number(13), ({ id }) => id],
  Size: [f.number(5), ({ size }) => size],
  name: [f.text('tool.tar.gz'), ({ name }) => name],
  md5: [f.text('5d41402abc4b2a76b9719d911017c592'), ({ md5 }) => md5],
  sha1: [f.text('aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d'), ({ sha1 }) => sha1],
  sha256: [
    f.text('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'),
    ({ sha256 }) => sha256,
  ],
  sha512: [
    f.text(
      '9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043',
    ),
    ({ sha512 }) => sha512,
  ],
})

interface OfOwner {
  readonly owner: Account
  readonly version: PackageVersion
}

/** Packages of one owner. */
const packageView: View<typeof packages.schema, OfOwner> = {
  schema: packages.schema,
  async all(found, recipient, read) {
    const [first] = found
    if (first === undefined) return []
    const versions = found.map(({ version }) => version)
    const details = await read((tx) => packageDetails(tx, recipient.user, first.owner, versions))
    return details.map((version) => presentPackage(version, recipient))
  },
}

const routes = at('/packages/{owner}', { scope: 'package' })
const VERSION_PATH = '/{type}/{name}/{version}'

export const packageRoutes = [
  routes.list('listPackages', '', {
    summary: 'The packages of a user or an organization, each version by itself, the newest first',
    query: v.object({
      type: f.optionalQuery(f.shortText, `Type of the packages: \`${PACKAGE_TYPES.join('`, `')}\`.`),
      q: f.optionalQuery(f.shortText, 'Part of the name.'),
    }),
    of: packageView,
    run: async ({ user, params, query, page, client }, { hosting }) => {
      const found = await hosting.packages.list(user, params.owner, query, page, client())
      if (found === undefined) return undefined
      const { owner } = found
      return { ...found.page, items: found.page.items.map((version) => ({ owner, version })) }
    },
  }),
  routes.get('getPackage', VERSION_PATH, {
    summary: 'A version of a package',
    of: packageView,
    run: ({ user, params }, { hosting }) => hosting.packages.find(user, params),
  }),
  routes.get('listPackageFiles', `${VERSION_PATH}/files`, {
    summary: 'The files of a version of a package',
    of: every(fileView),
    run: ({ user, params }, { hosting }) => hosting.packages.files(user, params),
  }),
  routes.delete('deletePackage', VERSION_PATH, {
    summary: 'Delete a version of a package with its files',
    run: ({ user, params }, { hosting }) => hosting.packages.remove(user, params),
  }),
]
