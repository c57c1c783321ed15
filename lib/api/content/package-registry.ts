/** The registry of generic packages, at the paths that clients of Forgejo use, and the page of a package. */
import type { Identity } from '../../accounts/access.ts'
import type { PackageName } from '../../content/package-files.ts'
import { AllotError } from '../../errors.ts'
import { checkScopes, fileReply, type StreamReply, type StreamRequest } from '../../http/index.ts'
import { escapeHtml } from '../../markdown/html.ts'
import type { Account, PackageFile, PackageVersion } from '../../records/schema/index.ts'
import { type StreamServices, signInRequired, stream } from '../route.ts'

type PackageRequest<Name extends string = 'owner' | 'name' | 'version'> = StreamRequest<Identity, Name>
type FileRequest = PackageRequest<'owner' | 'name' | 'version' | 'file'>
type Sender = Pick<PackageRequest, 'user'>

const genericPackage = ({ params }: PackageRequest): PackageName => ({ type: 'generic', ...params })

/** @throws AllotError unauthenticated, forbidden without the scope */
const writerOf = ({ user }: Sender): Identity => {
  if (user === null) throw signInRequired()
  checkScopes(user, { scope: 'write:package' })
  return user
}

/** @throws AllotError forbidden for a token without the scope */
const readerOf = ({ user }: Sender): Identity | null => {
  if (user !== null) checkScopes(user, { scope: 'read:package' })
  return user
}

/** Asks a client without credentials to sign in: the package may exist for others. */
const absent = ({ user }: Sender): AllotError =>
  user === null ? signInRequired() : new AllotError('not_found', 'there is no such package')

const empty = (status: number): StreamReply => ({ status, headers: {}, body: '' })

const upload = async (
  request: FileRequest,
  { hosting, maxFileBytes }: StreamServices,
): Promise<StreamReply> => {
  const { params, size, body } = request
  const user = writerOf(request)
  if (size !== undefined && maxFileBytes.packages !== undefined && size > maxFileBytes.packages)
    throw new AllotError('too_large', `a file must not be larger than ${maxFileBytes.packages} bytes`)
  const added = await hosting.packages.add(
    user,
    genericPackage(request),
    params.file,
    body,
    maxFileBytes.packages,
  )
  if (added === undefined) throw absent(request)
  return empty(201)
}

const download = async (request: FileRequest, { hosting }: StreamServices): Promise<StreamReply> => {
  const found = await hosting.packages.file(readerOf(request), genericPackage(request), request.params.file)
  if (found === undefined) throw absent(request)
  const place = { area: 'packages' as const, ownerId: found.owner, name: found.stored }
  return fileReply(request.headers, {
    size: found.size,
    tag: found.sha256,
    name: found.name,
    read: (range) => hosting.files.read(place, range),
  })
}

const removeFile = async (request: FileRequest, { hosting }: StreamServices): Promise<StreamReply> => {
  const isFound = await hosting.packages.removeFile(
    writerOf(request),
    genericPackage(request),
    request.params.file,
  )
  if (!isFound) throw absent(request)
  return empty(204)
}

const removeVersion = async (request: PackageRequest, { hosting }: StreamServices): Promise<StreamReply> => {
  const isFound = await hosting.packages.remove(writerOf(request), genericPackage(request))
  if (!isFound) throw absent(request)
  return empty(204)
}

const show = async (
  request: PackageRequest<'owner' | 'type' | 'name' | 'version'>,
  { hosting }: StreamServices,
): Promise<StreamReply> => {
  const { params, baseUrl } = request
  const user = readerOf(request)
  const found = await hosting.packages.find(user, params)
  const files = await hosting.packages.files(user, params)
  if (found === undefined || files === undefined) throw absent(request)
  return packagePage(found, files, baseUrl)
}

/** The page of a package, which lists its files. It has no script and loads nothing. */
const packagePage = (
  { owner, version }: { owner: Account; version: PackageVersion },
  files: readonly PackageFile[],
  baseUrl: string,
): StreamReply => {
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

const fileRow = ({ name, size, sha256 }: PackageFile, href: string): string =>
  `<tr><td><a href="${escapeHtml(href)}">${escapeHtml(name)}</a><td>${size}<td><code>${sha256}</code>`

const PAGE_HEADERS = {
  'Content-Type': 'text/html;charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

const VERSION_PATH = '/api/packages/{owner}/generic/{name}/{version}'

export const registryRoutes = [
  stream({ method: 'PUT', path: `${VERSION_PATH}/{file}`, handle: upload }),
  stream({ method: 'GET', path: `${VERSION_PATH}/{file}`, handle: download }),
  stream({ method: 'HEAD', path: `${VERSION_PATH}/{file}`, handle: download }),
  stream({ method: 'DELETE', path: `${VERSION_PATH}/{file}`, handle: removeFile }),
  stream({ method: 'DELETE', path: VERSION_PATH, handle: removeVersion }),
  stream({ method: 'GET', path: '/{owner}/-/packages/{type}/{name}/{version}', handle: show }),
]
