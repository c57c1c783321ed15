import type { Identity } from '../../accounts/identity.ts'
import type { PackageName } from '../../content/package-files.ts'
import { AllotError } from '../../errors.ts'
import { checkScopes, fileReply, type StreamReply, type StreamRequest } from '../../http/index.ts'
import { type StreamServices, stream } from '../route.ts'
import { packagePage } from './package-page.ts'

type Asked<Name extends string = 'owner' | 'name' | 'version'> = StreamRequest<Identity, Name>

const versionAt = ({ params }: Asked): PackageName => ({ type: 'generic', ...params })

const signIn = () => new AllotError('unauthenticated', 'sign in with a password or a token')

const signedIn = ({ user }: Pick<Asked, 'user'>): Identity => {
  if (user === null) throw signIn()
  checkScopes(user, { scope: 'write:package' })
  return user
}

/** What is not there for whoever has not signed in may be there for others: so they are asked to. */
const absent = ({ user }: Pick<Asked, 'user'>): AllotError =>
  user === null ? signIn() : new AllotError('not_found', 'there is no such package')

const reading = ({ user }: Pick<Asked, 'user'>) => {
  if (user !== null) checkScopes(user, { scope: 'read:package' })
  return user
}

const done = (status: number): StreamReply => ({ status, headers: {}, body: '' })

type AskedFile = Asked<'owner' | 'name' | 'version' | 'file'>

const upload = async (request: AskedFile, { hosting, largest }: StreamServices): Promise<StreamReply> => {
  const { file } = request.params
  const { size, body } = request
  const user = signedIn(request)
  if (size !== undefined && largest.packages !== undefined && size > largest.packages)
    throw new AllotError('too_large', `a file must not be larger than ${largest.packages} bytes`)
  const added = await hosting.packages.add(user, versionAt(request), file, body, largest.packages)
  if (added === undefined) throw absent(request)
  return done(201)
}

const download = async (request: AskedFile, { hosting }: StreamServices): Promise<StreamReply> => {
  const found = await hosting.packages.file(reading(request), versionAt(request), request.params.file)
  if (found === undefined) throw absent(request)
  const place = { area: 'packages' as const, keeper: found.owner, name: found.stored }
  return fileReply(request.headers, {
    ...{ size: found.size, tag: found.sha256, name: found.name },
    read: (range) => hosting.files.read(place, range),
  })
}

const removeFile = async (request: AskedFile, { hosting }: StreamServices): Promise<StreamReply> => {
  const user = signedIn(request)
  if (await hosting.packages.removeFile(user, versionAt(request), request.params.file)) return done(204)
  throw absent(request)
}

const removeVersion = async (request: Asked, { hosting }: StreamServices): Promise<StreamReply> => {
  if (await hosting.packages.remove(signedIn(request), versionAt(request))) return done(204)
  throw absent(request)
}

const show = async (
  request: Asked<'owner' | 'type' | 'name' | 'version'>,
  { hosting }: StreamServices,
): Promise<StreamReply> => {
  const { params, baseUrl } = request
  const user = reading(request)
  const [found, files] = [
    await hosting.packages.find(user, params),
    await hosting.packages.files(user, params),
  ]
  if (found === undefined || files === undefined) throw absent(request)
  return packagePage(found, files, baseUrl)
}

const VERSION = '/api/packages/{owner}/generic/{name}/{version}'

/** The generic registry, where clients of Forgejo look for it, and what there is to see of a package in a browser. */
export const registryRoutes = [
  stream({ method: 'PUT', path: `${VERSION}/{file}`, handle: upload }),
  stream({ method: 'GET', path: `${VERSION}/{file}`, handle: download }),
  stream({ method: 'HEAD', path: `${VERSION}/{file}`, handle: download }),
  stream({ method: 'DELETE', path: `${VERSION}/{file}`, handle: removeFile }),
  stream({ method: 'DELETE', path: VERSION, handle: removeVersion }),
  stream({ method: 'GET', path: '/{owner}/-/packages/{type}/{name}/{version}', handle: show }),
]
