/** The registries of packages, at the paths that clients of Forgejo use. */
import type { Identity } from '../../accounts/access.ts'
import { fileOfPackage } from '../../content/downloads.ts'
import type { PackageName } from '../../content/packages/names.ts'
import { AllotError } from '../../errors.ts'
import {
  fileReply,
  requireScopes,
  type StreamReply,
  type StreamRequest,
  type StreamRoute,
} from '../../http/index.ts'
import { type Services, signInRequired, stream } from '../route.ts'

type PackageRequest<Name extends string = 'owner' | 'name' | 'version'> = StreamRequest<Identity, Name>
type FileRequest = PackageRequest<'owner' | 'name' | 'version' | 'file'>

/** @throws AllotError unauthenticated, forbidden without the scope */
const writerOf = ({ user }: Pick<PackageRequest, 'user'>, services: Services): Identity => {
  if (user === null) throw signInRequired(services)
  requireScopes(user, { scope: 'write:package' })
  return user
}

/** @throws AllotError forbidden for a token without the scope */
const readerOf = ({ user }: Pick<PackageRequest, 'user'>): Identity | null => {
  if (user !== null) requireScopes(user, { scope: 'read:package' })
  return user
}

/**
 * Returns what a request finds.
 * @throws AllotError not_found; unauthenticated for a client without credentials, for whom the package may
 * exist
 */
const required = async <T>(
  { user, params }: Pick<PackageRequest<'owner'>, 'user' | 'params'>,
  services: Services,
  finding: Promise<T | undefined | false>,
): Promise<T> => {
  const found = await finding
  if (found !== undefined && found !== false) return found
  // The 404 of a former name becomes a redirect, for clients without credentials as well if they can see the
  // account.
  const hasMoved = user === null && (await services.hosting.accounts.presentName(user, params.owner))
  if (user === null && !hasMoved) throw signInRequired(services)
  throw new AllotError('not_found', 'there is no such package')
}

const empty = (status: number): StreamReply => ({ status, headers: {}, body: '' })

const upload = async (request: FileRequest, services: Services) => {
  const { params, size, body } = request
  const { hosting, options } = services
  const maxSize = options.packages ? options.packages.maxSize : undefined
  const user = writerOf(request, services)
  if (size !== undefined && maxSize !== undefined && size > maxSize)
    throw new AllotError('too_large', `a file must not be larger than ${maxSize} bytes`)
  const adding = hosting.packages.add(user, genericPackage(request), params.file, body, { maxSize, size })
  await required(request, services, adding)
  return empty(201)
}

const download = async (request: FileRequest, services: Services) => {
  const { params, headers } = request
  const { hosting } = services
  const find = (user: Identity | null) =>
    required(request, services, hosting.packages.file(user, genericPackage(request), params.file))
  const found = await find(readerOf(request))
  request.whileAllowed(find)
  return fileReply(headers, fileOfPackage(hosting.files, found))
}

const removeFile = async (request: FileRequest, services: Services) => {
  const { packages } = services.hosting
  const removing = packages.removeFile(
    writerOf(request, services),
    genericPackage(request),
    request.params.file,
  )
  await required(request, services, removing)
  return empty(204)
}

const removeVersion = async (request: PackageRequest, services: Services) => {
  const { packages } = services.hosting
  await required(request, services, packages.remove(writerOf(request, services), genericPackage(request)))
  return empty(204)
}

const genericPackage = ({ params }: PackageRequest): PackageName => ({ type: 'generic', ...params })

/** Also in `downloadPath` (lib/content/packages/names.ts), which pages and `allot migrate` use. */
const GENERIC = '/api/packages/{owner}/generic/{name}/{version}'

export const registryRoutes: readonly StreamRoute<Identity, Services>[] = [
  stream({ method: 'PUT', path: `${GENERIC}/{file}`, handle: upload }),
  stream({ method: 'GET', path: `${GENERIC}/{file}`, handle: download }),
  stream({ method: 'DELETE', path: `${GENERIC}/{file}`, handle: removeFile }),
  stream({ method: 'DELETE', path: GENERIC, handle: removeVersion }),
]
