/**
 * git's smart HTTP protocol (gitprotocol-http), below the `clone_url` of each repository, and who may fetch and push, which is
 * the same for Git LFS.
 */
import type { Identity } from '../accounts/access.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { PushListener } from '../git/transport.ts'
import { checkScopes, type StreamReply, type StreamRequest } from '../http/index.ts'
import type { Repository } from '../records/schema/index.ts'
import type { Push } from '../repositories/push-journal.ts'
import { requirePush } from '../repositories/write-access.ts'
import { type StreamServices, signInRequired, stream } from './route.ts'

type RepositoryRequest = Pick<StreamRequest<Identity, 'owner' | 'repo'>, 'user' | 'params'>

/** The name of a repository in a path, which may end in `.git`, as on Forgejo. */
export const nameIn = (segment: string): string => segment.replace(/\.git$/, '')

/**
 * The repository that a request reads. A client without credentials is answered 401 whether the repository exists or not:
 * git asks for a password only then, and the answer does not reveal private repositories.
 * @throws AllotError unauthenticated, forbidden without the scope, not_found
 */
export const requireReadable = async (
  { hosting }: StreamServices,
  { user, params }: RepositoryRequest,
): Promise<Repository> => {
  if (user !== null) checkScopes(user, { scope: 'read:repository' })
  const name = nameIn(params.repo)
  const repository = await hosting.repositories.find(user, params.owner, name)
  if (repository !== undefined) return repository
  // The 404 of a former name becomes a redirect, for clients without credentials as well if the repository is public.
  const hasMoved = user === null && (await hosting.repositories.findMoved(user, params.owner, name))
  if (user === null && !hasMoved) throw signInRequired()
  throw new AllotError('not_found', 'there is no such repository')
}

/**
 * The repository that a request pushes to, and the user who pushes.
 * @throws AllotError unauthenticated, forbidden, not_found
 */
export const writableRepository = async (
  services: StreamServices,
  request: RepositoryRequest,
): Promise<{ repository: Repository; user: Identity }> => {
  const { user } = request
  if (user === null) throw signInRequired()
  checkScopes(user, { scope: 'write:repository' })
  const repository = await requireReadable(services, request)
  await services.store.read((tx) => requirePush(tx, user, repository))
  return { repository, user }
}

type GitRequest = StreamRequest<Identity, 'owner' | 'repo'>

const protocolIn = ({ headers }: GitRequest): string | undefined => {
  const protocol = headers['git-protocol']
  return typeof protocol === 'string' ? protocol : undefined
}

const gitReply = (kind: string, body: StreamReply['body']): StreamReply => ({
  status: 200,
  headers: {
    'Content-Type': `application/x-git-${kind}`,
    'Cache-Control': 'no-cache, max-age=0, must-revalidate',
    'X-Content-Type-Options': 'nosniff',
  },
  body,
})

const advertise = async (request: GitRequest, services: StreamServices): Promise<StreamReply> => {
  const service = request.query.get('service')?.replace(/^git-/, '')
  if (service !== 'upload-pack' && service !== 'receive-pack')
    throw new AllotError('forbidden', "only git's smart protocol is served: use a newer git")
  const repository =
    service === 'upload-pack'
      ? await requireReadable(services, request)
      : (await writableRepository(services, request)).repository
  const { client, signal } = request
  const context = { client: client(), signal, protocol: protocolIn(request) }
  const body = await services.transport!.advertise(repository.id, service, context)
  return gitReply(`${service}-advertisement`, body)
}

const fetch = async (request: GitRequest, services: StreamServices): Promise<StreamReply> => {
  const { id } = await requireReadable(services, request)
  const { body, client, signal } = request
  const context = { body, client: client(), signal, protocol: protocolIn(request) }
  const { output, completed } = await services.transport!.upload(id, context)
  return { ...gitReply('upload-pack-result', output), completed }
}

const push = async (request: GitRequest, services: StreamServices): Promise<StreamReply> => {
  const { repository, user } = await writableRepository(services, request)
  const { body, size, client, signal } = request
  const context = { body, size, client: client(), signal, protocol: protocolIn(request) }
  const listener = countingListener(services, repository.id, async (counted, updates) => {
    if (updates.length > 0) await notifyPushed(services, counted, user, updates)
    collectGarbageLater(services, repository.id)
  })
  const output = await services.transport!.receive(repository.id, context, listener)
  return gitReply('receive-pack-result', output)
}

/** Counts the repository after git has changed it. @param onCounted called once the new size is durable */
const countingListener = (
  { hosting, onError }: StreamServices,
  id: number,
  onCounted: (repository: Repository, updates: Push['updates']) => Promise<void>,
): PushListener => {
  let entry: number
  return {
    async started(pid) {
      entry = await hosting.pushJournal.begin(id, pid)
    },
    async finished(updates) {
      const updatedAt = updates.length > 0 ? now() : undefined
      const repository = await hosting.pushJournal.settle(entry, id, updatedAt).catch((error) => {
        onError(error, { repository: id })
        throw new AllotError(
          'unavailable',
          'git has stored the push, but its size is not counted yet: the next push or start counts it',
        )
      })
      if (repository === undefined) throw new AllotError('not_found', 'the repository was deleted')
      await onCounted(repository, updates)
    },
  }
}

/** Runs in the background, after the reply. */
const collectGarbageLater = (services: StreamServices, id: number): void => {
  const listener = countingListener(services, id, async () => undefined)
  services
    .transport!.collectGarbage(id, listener)
    .catch((error) => services.onError(error, { repository: id }))
}

const notifyPushed = async (
  { hosting, onPush }: StreamServices,
  { id, owner, name, size }: Repository,
  { username: pusher }: Identity,
  updates: Push['updates'],
): Promise<void> => {
  const account = await hosting.accounts.byId(owner)
  onPush({ repository: `${account?.name}/${name}`, repositoryId: id, pusher, updates, size })
}

/** Bytes: the wants and haves of a fetch of a million objects. */
const FETCH_LIMIT = 64 * 1024 * 1024

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
