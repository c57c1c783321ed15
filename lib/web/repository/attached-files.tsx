/** Attachments: the list of them, and the page that sends one. */
import type { Viewer } from '../../accounts/access.ts'
import { fileReply } from '../../http/responses.ts'
import type { Attachment } from '../../records/schema/index.ts'
import { NameLink, Size } from '../parts/components.tsx'
import { Icon } from '../parts/inline.tsx'
import { page } from '../parts/route.ts'
import { missing } from './access.tsx'
import { pictureType } from './picture-type.ts'

export const attachmentPageRoutes = [
  page({
    path: '/-/attachments/{uuid}',
    auth: 'optional',
    async handle({ user, params, whileAllowed }, { hosting }) {
      const open = async (user: Viewer) => {
        const found = await hosting.attachments.open(user, params.uuid)
        if (found === undefined) throw missing('such attachment')
        return found
      }
      const found = await open(user)
      whileAllowed(open)
      return async ({ headers }) => fileReply(headers, { ...found, type: pictureType(found.name) })
    },
  }),
]

/** Files of an issue, a comment or a release. */
export const AttachedFiles = ({ files }: { files: readonly Attachment[] }) =>
  files.length === 0 ? null : (
    <ul class="plain facts attached">
      {files.map(({ id, uuid, name, size }) => (
        <li key={id} class="line">
          <span>
            <Icon name="file" /> <NameLink to={`/-/attachments/${uuid}`}>{name}</NameLink>
          </span>{' '}
          <span class="small">
            <Size bytes={size} />
          </span>
        </li>
      ))}
    </ul>
  )
