import * as v from 'valibot'
import { type PackageDetails, packageDetails } from '../../content/details.ts'
import { Empty, Forbidden, NotFound } from '../../http/index.ts'
import {
  type Account,
  type PackageFile as FileRecord,
  PACKAGE_TYPES,
  type PackageVersion,
} from '../../records/schema/index.ts'
import { number, parameter, shortText, Time, text, timestamp } from '../fields.ts'
import { pageOf, type Recipient, reply, replyEmpty, replyFound, route, type Services } from '../route.ts'
import { presentUser, User } from '../users.ts'

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

const readPackages = async (
  { store }: Services,
  request: Recipient,
  owner: Account,
  versions: readonly PackageVersion[],
): Promise<Package[]> => {
  const details = await store.read((tx) => packageDetails(tx, request.user, owner, versions))
  return details.map((version) => presentPackage(version, request))
}

const VERSION_PATH = '/packages/{owner}/{type}/{name}/{version}'
const read = { auth: 'optional', scope: 'read:package', tag: 'package' } as const

export const packageRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/packages/{owner}',
    operationId: 'listPackages',
    summary: 'The packages of a user or an organization, each version by itself, the newest first',
    query: v.object({
      type: v.optional(parameter(shortText, `Type of the packages: \`${PACKAGE_TYPES.join('`, `')}\`.`)),
      q: v.optional(parameter(shortText, 'Part of the name.')),
    }),
    paging: 'pages',
    responses: { 200: v.array(Package), 403: Forbidden, 404: NotFound },
    handle: async (request, services) => {
      const { user, params, query, page } = request
      const found = await services.hosting.packages.list(user, params.owner, query, page)
      if (found === undefined) return reply(404)
      const { items, total } = found.page
      return pageOf(await readPackages(services, request, found.owner, items), total)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: VERSION_PATH,
    operationId: 'getPackage',
    summary: 'A version of a package',
    responses: { 200: Package, 403: Forbidden, 404: NotFound },
    handle: async (request, services) => {
      const found = await services.hosting.packages.find(request.user, request.params)
      if (found === undefined) return reply(404)
      const [version] = await readPackages(services, request, found.owner, [found.version])
      return reply(200, version!)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: `${VERSION_PATH}/files`,
    operationId: 'listPackageFiles',
    summary: 'The files of a version of a package',
    responses: { 200: v.array(PackageFile), 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyFound(await hosting.packages.files(user, params), (files) => files.map(presentFile)),
  }),
  route({
    method: 'DELETE',
    path: VERSION_PATH,
    operationId: 'deletePackage',
    tag: 'package',
    summary: 'Delete a version of a package with its files',
    auth: 'required',
    scope: 'write:package',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) => replyEmpty(await hosting.packages.remove(user, params)),
  }),
]
