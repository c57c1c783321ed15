import type { Identity } from '../accounts/identity.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { PushListener } from '../git/transport.ts'
import type { StreamReply, StreamRequest } from '../http/index.ts'
import type { Repository } from '../records/schema/index.ts'
import type { Push } from '../repositories/push-journal.ts'
import { readable, writable } from './git-access.ts'
import { type StreamServices, stream } from './route.ts'

type Asked = StreamRequest<Identity, 'owner' | 'repo'>

const protocolOf = ({ headers }: Asked): string | undefined => {
  const protocol = headers['git-protocol']
  return typeof protocol === 'string' ? protocol : undefined
}

const answer = (kind: string, body: StreamReply['body']): StreamReply => ({
  status: 200,
  headers: {
    'Content-Type': `application/x-git-${kind}`,
    'Cache-Control': 'no-cache, max-age=0, must-revalidate',
    'X-Content-Type-Options': 'nosniff',
  },
  body,
})

const advertise = async (request: Asked, services: StreamServices): Promise<StreamReply> => {
  const service = request.query.get('service')?.replace(/^git-/, '')
  if (service !== 'upload-pack' && service !== 'receive-pack')
    throw new AllotError('forbidden', 'only the smart protocol is spoken here: this git is too old')
  const repository =
    service === 'upload-pack' ? await readable(services, request) : (await writable(services, request))[0]
  const { client, signal } = request
  const body = await services.transport!.advertise(repository.id, service, {
    protocol: protocolOf(request),
    client,
    signal,
  })
  return answer(`${service}-advertisement`, body)
}

const upload = async (request: Asked, services: StreamServices): Promise<StreamReply> => {
  const { id } = await readable(services, request)
  const { body, client, signal } = request
  const { output, completed } = await services.transport!.upload(id, {
    body,
    client,
    signal,
    protocol: protocolOf(request),
  })
  return { ...answer('upload-pack-result', output), completed }
}

const receive = async (request: Asked, services: StreamServices): Promise<StreamReply> => {
  const { transport } = services
  const [{ id }, user] = await writable(services, request)
  const { body, size, client, signal } = request
  const context = { body, size, client, signal, protocol: protocolOf(request) }
  const output = await transport!.receive(
    id,
    context,
    landingOf(services, id, async (repository, updates) => {
      if (updates.length > 0) await tell(services, repository, user, updates)
      tidyLater(services, id)
    }),
  )
  return answer('receive-pack-result', output)
}

/** Counts what a change comes to, and then says so. */
const landingOf = (
  services: StreamServices,
  id: number,
  counted: (repository: Repository, updates: Push['updates']) => Promise<void>,
): PushListener => {
  const { hosting } = services
  let landing: number
  return {
    async started(pid) {
      landing = await hosting.pushJournal.begin(id, pid)
    },
    async finished(updates) {
      const updatedAt = updates.length > 0 ? now() : undefined
      const settling = hosting.pushJournal
        .settle(landing, id, updatedAt)
        .catch((error) => uncounted(services, error, id))
      const repository = await settling
      if (repository === undefined) throw new AllotError('not_found', 'the repository is gone')
      await counted(repository, updates)
    },
  }
}

/** @throws AllotError that the client may read */
const uncounted = ({ failed }: StreamServices, error: unknown, repository: number): never => {
  failed(error, { repository })
  throw new AllotError(
    'unavailable',
    'what was pushed is not counted yet, so it is not done: push again later',
  )
}

/** Nobody waits for it. */
const tidyLater = (services: StreamServices, id: number): void => {
  const landing = landingOf(services, id, async () => undefined)
  services.transport!.collectGarbage(id, landing).catch((error) => services.failed(error, { repository: id }))
}

const tell = async (
  { hosting, pushed }: StreamServices,
  { id, owner, name, size }: Repository,
  { username: pusher }: Identity,
  updates: Push['updates'],
): Promise<void> => {
  const account = await hosting.accounts.byId(owner)
  pushed({ repository: `${account?.name}/${name}`, repositoryId: id, pusher, updates, size })
}

/** Bytes of what a client says it has and wants: those of a million objects. */
const LONGEST_WISH = 64 * 1024 * 1024

/** git over HTTP, as `git clone` and `git push` speak it, below the `clone_url` of each repository. */
export const gitRoutes = [
  stream({ method: 'GET', path: '/{owner}/{repo}/info/refs', handle: advertise }),
  stream({
    method: 'POST',
    path: '/{owner}/{repo}/git-upload-pack',
    accepts: 'application/x-git-upload-pack-request',
    bodyLimit: LONGEST_WISH,
    handle: upload,
  }),
  stream({
    method: 'POST',
    path: '/{owner}/{repo}/git-receive-pack',
    accepts: 'application/x-git-receive-pack-request',
    handle: receive,
  }),
]
