import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import { type PackageDetails, packageDetails } from '../../content/details.ts'
import type { PackageName } from '../../content/packages.ts'
import { AllotError } from '../../errors.ts'
import {
  Empty,
  Forbidden,
  fileReply,
  NotFound,
  requireScopes,
  type StreamReply,
  type StreamRequest,
} from '../../http/index.ts'
import { escapeHtml } from '../../markdown/html.ts'
import type { Account, PackageFile as FileRecord, PackageVersion } from '../../records/schema/index.ts'
import { number, parameter, shortText, Time, text, timestamp } from '../fields.ts'
import {
  pageOf,
  type Recipient,
  reply,
  replyEmpty,
  replyFound,
  route,
  type Services,
  type StreamServices,
  signInRequired,
  stream,
} from '../route.ts'
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
      type: v.optional(parameter(shortText, 'Type of the packages: `generic` is the only one.')),
      q: v.optional(parameter(shortText, 'Part of the name.')),
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

/*
 * The registry of generic packages, at the paths that clients of Forgejo use, and the page of a package.
 */

type PackageRequest<Name extends string = 'owner' | 'name' | 'version'> = StreamRequest<Identity, Name>
type FileRequest = PackageRequest<'owner' | 'name' | 'version' | 'file'>

const genericPackage = ({ params }: PackageRequest): PackageName => ({ type: 'generic', ...params })

/** @throws AllotError unauthenticated, forbidden without the scope */
const writerOf = ({ user }: Pick<PackageRequest, 'user'>): Identity => {
  if (user === null) throw signInRequired()
  requireScopes(user, { scope: 'write:package' })
  return user
}

/** @throws AllotError forbidden for a token without the scope */
const readerOf = ({ user }: Pick<PackageRequest, 'user'>): Identity | null => {
  if (user !== null) requireScopes(user, { scope: 'read:package' })
  return user
}

/**
 * Returns what was found.
 * @throws AllotError not_found; unauthenticated for a client without credentials, for whom the package may exist
 */
const required = <T>({ user }: Pick<PackageRequest, 'user'>, found: T | undefined | false): T => {
  if (found !== undefined && found !== false) return found
  throw user === null ? signInRequired() : new AllotError('not_found', 'there is no such package')
}

const empty = (status: number): StreamReply => ({ status, headers: {}, body: '' })

const upload = async (request: FileRequest, { hosting, maxFileBytes }: StreamServices) => {
  const { params, size, body } = request
  const { packages: maxSize } = maxFileBytes
  const user = writerOf(request)
  if (size !== undefined && maxSize !== undefined && size > maxSize)
    throw new AllotError('too_large', `a file must not be larger than ${maxSize} bytes`)
  required(request, await hosting.packages.add(user, genericPackage(request), params.file, body, { maxSize }))
  return empty(201)
}

const download = async (request: FileRequest, { hosting }: StreamServices) => {
  const { params, headers } = request
  const found = await hosting.packages.file(readerOf(request), genericPackage(request), params.file)
  const { owner, stored, size, sha256, name } = required(request, found)
  const place = { area: 'packages' as const, ownerId: owner, name: stored }
  return fileReply(headers, { size, tag: sha256, name, read: (range) => hosting.files.read(place, range) })
}

const removeFile = async (request: FileRequest, { hosting }: StreamServices) => {
  const { file } = request.params
  required(request, await hosting.packages.removeFile(writerOf(request), genericPackage(request), file))
  return empty(204)
}

const removeVersion = async (request: PackageRequest, { hosting }: StreamServices) => {
  required(request, await hosting.packages.remove(writerOf(request), genericPackage(request)))
  return empty(204)
}

/** The page of a package, which lists its files. It has no script and loads nothing. */
const show = async (
  request: PackageRequest<'owner' | 'type' | 'name' | 'version'>,
  { hosting }: StreamServices,
): Promise<StreamReply> => {
  const { params, baseUrl } = request
  const user = readerOf(request)
  const { owner, version } = required(request, await hosting.packages.find(user, params))
  const files = required(request, await hosting.packages.files(user, params))
  const path = [owner.name, version.type, version.name, version.version].map(encodeURIComponent).join('/')
  const rows = files.map((file) =>
    fileRow(file, `${baseUrl}/api/packages/${path}/${encodeURIComponent(file.name)}`),
  )
  const title = escapeHtml(`${version.name} ${version.version}`)
  const body = [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>`,
    `<h1>${title}</h1><p>A ${version.type} package of ${escapeHtml(owner.name)}.</p>`,
    `<table><thead><tr><th>File<th>Bytes<th>SHA-256<tbody>${rows.join('')}</table></html>\n`,
  ].join('\n')
  return { status: 200, headers: PAGE_HEADERS, body }
}

const fileRow = ({ name, size, sha256 }: FileRecord, href: string): string =>
  `<tr><td><a href="${escapeHtml(href)}">${escapeHtml(name)}</a><td>${size}<td><code>${sha256}</code>`

const PAGE_HEADERS = {
  'Content-Type': 'text/html;charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

const REGISTRY_PATH = '/api/packages/{owner}/generic/{name}/{version}'

export const registryRoutes = [
  stream({ method: 'PUT', path: `${REGISTRY_PATH}/{file}`, handle: upload }),
  stream({ method: 'GET', path: `${REGISTRY_PATH}/{file}`, handle: download }),
  stream({ method: 'HEAD', path: `${REGISTRY_PATH}/{file}`, handle: download }),
  stream({ method: 'DELETE', path: `${REGISTRY_PATH}/{file}`, handle: removeFile }),
  stream({ method: 'DELETE', path: REGISTRY_PATH, handle: removeVersion }),
  stream({ method: 'GET', path: '/{owner}/-/packages/{type}/{name}/{version}', handle: show }),
]
