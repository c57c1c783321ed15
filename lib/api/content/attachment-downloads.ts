import type { Identity } from '../../accounts/access.ts'
import { AllotError } from '../../errors.ts'
import { checkScopes, fileReply, type StreamReply, type StreamRequest } from '../../http/index.ts'
import { type StreamServices, stream } from '../route.ts'

type DownloadRequest = StreamRequest<Identity, 'uuid'>

/** @throws AllotError not_found when the attachment does not exist or its issue or release is hidden from the client */
const open = async ({ user, params, headers }: DownloadRequest, { hosting }: StreamServices) => {
  // Without scopes: which scope is needed depends on the attachment, and is checked once it is found.
  const account = user === null ? null : { id: user.id, admin: user.admin }
  const found = await hosting.attachments.byUuid(account, params.uuid)
  if (found === undefined) throw new AllotError('not_found', 'there is no such attachment')
  const { attachment } = found
  if (user !== null)
    checkScopes(user, { scope: attachment.on === 'release' ? 'read:repository' : 'read:issue' })
  const reply = await fileReply(headers, {
    size: attachment.size,
    name: attachment.name,
    tag: attachment.uuid,
    read: (range) => hosting.attachments.read(attachment, range),
  })
  return { attachment, reply }
}

/** Counts a reply with the whole file as a download. The file is sent even if the count cannot be saved. */
const download = async (request: DownloadRequest, services: StreamServices): Promise<StreamReply> => {
  const { attachment, reply } = await open(request, services)
  if (reply.status === 200)
    await services.hosting.attachments
      .downloaded(attachment.id)
      .catch((error) => services.onError(error, { attachment: attachment.id }))
  return reply
}

/** The files themselves, at the `browser_download_url` of each attachment. */
export const downloadRoutes = [
  stream({ method: 'GET', path: '/attachments/{uuid}', handle: download }),
  stream({
    method: 'HEAD',
    path: '/attachments/{uuid}',
    handle: async (request, services) => (await open(request, services)).reply,
  }),
]
