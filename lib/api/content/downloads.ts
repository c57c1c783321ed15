import type { Identity } from '../../accounts/identity.ts'
import { AllotError } from '../../errors.ts'
import { checkScopes, fileReply, type StreamReply, type StreamRequest } from '../../http/index.ts'
import { type StreamServices, stream } from '../route.ts'

type Asked = StreamRequest<Identity, 'uuid'>

/** The file of an attachment, for whoever may know of what it hangs on: to all others it is not there. */
const find = async ({ user, params, headers }: Asked, { hosting }: StreamServices) => {
  // Which scope is needed follows from what is found, so the account alone decides what is there.
  const account = user === null ? null : { id: user.id, admin: user.admin }
  const found = await hosting.attachments.byUuid(account, params.uuid)
  if (found === undefined) throw new AllotError('not_found', 'there is no such attachment')
  const { attachment } = found
  if (user !== null)
    checkScopes(user, { scope: attachment.on === 'release' ? 'read:repository' : 'read:issue' })
  const { size, name, uuid } = attachment
  const reply = await fileReply(headers, {
    ...{ size, name, tag: uuid },
    read: (range) => hosting.attachments.read(attachment, range),
  })
  return { attachment, reply }
}

/** What is sent whole counts as a download, though not for its own sake: a file is sent whether it can be counted or not. */
const download = async (request: Asked, services: StreamServices): Promise<StreamReply> => {
  const { attachment, reply } = await find(request, services)
  if (reply.status === 200)
    await services.hosting.attachments
      .downloaded(attachment.id)
      .catch((error) => services.failed(error, { attachment: attachment.id }))
  return reply
}

/** Attachments at the address that a browser has of them. */
export const downloadRoutes = [
  stream({ method: 'GET', path: '/attachments/{uuid}', handle: download }),
  stream({
    method: 'HEAD',
    path: '/attachments/{uuid}',
    handle: async (request, services) => (await find(request, services)).reply,
  }),
]
