/**
 * git's smart HTTP protocol (gitprotocol-http), below the `clone_url` of each repository, and who may fetch
 * and push, which is the same for Git LFS.
 */
import type { Identity } from '../../accounts/access.ts'
import { AllotError } from '../../errors.ts'
import { FLUSH, pktLine } from '../../git/pkt-lines.ts'
import { FETCH_LIMIT } from '../../git/transport.ts'
import { type OpenBody, requireScopes, type StreamReply, type StreamRequest } from '../../http/index.ts'
import type { Repository } from '../../records/schema/index.ts'
import { findForGit } from '../../repositories/redirects.ts'
import { type GitRight, requirePush, requireStill } from '../../repositories/write-access.ts'
import { type Services, signInRequired, stream } from '../route.ts'

type RepositoryRequest = Pick<StreamRequest<Identity, 'owner' | 'repo'>, 'user' | 'params' | 'whileAllowed'>

/** The name of a repository in a path, which may end in `.git`, as on Forgejo. */
export const nameIn = (segment: string): string => segment.replace(/\.git$/, '')

/**
 * The repository that a request reads, as long as it may. A client without credentials is answered 401
 * whether the repository exists or not: git asks for a password only then, and the answer does not reveal
 * private repositories. A former name is not redirected, as over SSH: git keeps to the new place only after a
 * redirect before the 401, which would reveal them.
 * @throws AllotError unauthenticated, forbidden without the scope, not_found
 */
export const requireReadable = async (
  services: Services,
  { user, params, whileAllowed }: RepositoryRequest,
  right: GitRight = 'read',
): Promise<Repository> => {
  const { store } = services
  if (user !== null) requireScopes(user, { scope: 'read:repository' })
  const found = await findForGit(store, user, params.owner, nameIn(params.repo))
  if (found === undefined && user === null) throw signInRequired(services)
  if (found === undefined) throw new AllotError('not_found', 'there is no such repository')
  const { repository } = found
  whileAllowed((user) => store.read((tx) => requireStill(tx, user, repository.id, right)))
  return repository
}

/**
 * The repository that a request pushes to, and the user who pushes.
 * @throws AllotError unauthenticated, forbidden, not_found
 */
export const writableRepository = async (
  services: Services,
  request: RepositoryRequest,
): Promise<{ repository: Repository; user: Identity }> => {
  const { user } = request
  if (user === null) throw signInRequired(services)
  requireScopes(user, { scope: 'write:repository' })
  const repository = await requireReadable(services, request, 'push')
  await services.store.read((tx) => requirePush(tx, user, repository))
  return { repository, user }
}

type GitRequest = StreamRequest<Identity, 'owner' | 'repo'>

const protocolIn = ({ headers }: GitRequest): string | undefined => {
  const protocol = headers['git-protocol']
  return typeof protocol === 'string' ? protocol : undefined
}

const gitReply = (kind: string, body: OpenBody): StreamReply => ({
  status: 200,
  headers: {
    'Content-Type': `application/x-git-${kind}`,
    'Cache-Control': 'no-cache, max-age=0, must-revalidate',
    'X-Content-Type-Options': 'nosniff',
  },
  body,
})

const advertise = async (request: GitRequest, services: Services): Promise<StreamReply> => {
  const service = request.query.get('service')?.replace(/^git-/, '')
  if (service !== 'upload-pack' && service !== 'receive-pack')
    throw new AllotError('forbidden', "only git's smart protocol is served: use a newer git")
  const repository =
    service === 'upload-pack'
      ? await requireReadable(services, request)
      : (await writableRepository(services, request)).repository
  const { client, signal } = request
  const context = { client: client(), signal, protocol: protocolIn(request) }
  const isVersion2 = service === 'upload-pack' && /(?:^|:)version=2(?:$|:)/.test(context.protocol ?? '')
  return gitReply(`${service}-advertisement`, async () => {
    const stream = await services.hosting.git!.transport.advertise(repository.id, service, context)
    if (!isVersion2) stream.unshift(Buffer.concat([pktLine(`# service=git-${service}\n`), FLUSH]))
    return { stream }
  })
}

const fetch = async (request: GitRequest, services: Services): Promise<StreamReply> => {
  const { id } = await requireReadable(services, request)
  const { body, client, signal } = request
  const context = { body, client: client(), signal, protocol: protocolIn(request) }
  const { output, completed } = await services.hosting.git!.transport.upload(id, context)
  return gitReply('upload-pack-result', async () => ({ stream: output, completed }))
}

const push = async (request: GitRequest, services: Services): Promise<StreamReply> => {
  const { repository, user } = await writableRepository(services, request)
  const { body, size, client, signal } = request
  const context = { body, size, client: client(), signal, protocol: protocolIn(request) }
  const stream = await services.hosting.git!.pushes.receive(
    repository,
    { ...user, via: 'http', kind: 'push' },
    context,
  )
  return gitReply('receive-pack-result', async () => ({ stream }))
}

export const gitRoutes = [
  stream({ method: 'GET', path: '/{owner}/{repo}/info/refs', handle: advertise }),
  stream({
    method: 'POST',
    path: '/{owner}/{repo}/git-upload-pack',
    accepts: 'application/x-git-upload-pack-request',
    bodyLimit: FETCH_LIMIT,
    handle: fetch,
  }),
  stream({
    method: 'POST',
    path: '/{owner}/{repo}/git-receive-pack',
    accepts: 'application/x-git-receive-pack-request',
    handle: push,
  }),
]
