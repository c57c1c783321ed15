import * as v from 'valibot'
import { type PackageDetails, packageDetails } from '../../content/details.ts'
import { Empty, Forbidden, NotFound } from '../../http/index.ts'
import type { Account, PackageFile as FileRecord, PackageVersion } from '../../records/schema/index.ts'
import { timestamp } from '../fields.ts'
import { pageOf, type Recipient, reply, replyEmpty, route, type Services } from '../route.ts'
import { presentUser, User } from '../users.ts'

const Package = v.object({
  id: v.number(),
  owner: User,
  /** Always null: packages belong to an owner, not to a repository. */
  repository: v.null(),
  creator: User,
  type: v.string(),
  name: v.string(),
  version: v.string(),
  html_url: v.string(),
  created_at: v.string(),
})
type Package = v.InferOutput<typeof Package>

/** `Size` is capitalised, as on Forgejo. */
const PackageFile = v.object({
  id: v.number(),
  Size: v.number(),
  name: v.string(),
  md5: v.string(),
  sha1: v.string(),
  sha256: v.string(),
  sha512: v.string(),
})

const presentPackage = (
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
    html_url: packageUrl(recipient.baseUrl, owner.name, { type, name, version }),
    created_at: timestamp(record.createdAt),
  }
}

const presentFile = ({ id, size, name, md5, sha1, sha256, sha512 }: FileRecord) => ({
  ...{ id, Size: size, name, md5, sha1, sha256, sha512 },
})

export const packageUrl = (
  baseUrl: string,
  owner: string,
  { type, name, version }: { type: string; name: string; version: string },
): string => `${baseUrl}/${owner}/-/packages/${[type, name, version].map(encodeURIComponent).join('/')}`

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
      type: v.optional(
        v.pipe(v.string(), v.maxLength(255), v.description('Such as `generic`, the only one there is.')),
      ),
      q: v.optional(v.pipe(v.string(), v.maxLength(255), v.description('What the name holds.'))),
    }),
    paging: 'lenient',
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
    handle: async ({ user, params }, { hosting }) => {
      const files = await hosting.packages.files(user, params)
      return files === undefined ? reply(404) : reply(200, files.map(presentFile))
    },
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
