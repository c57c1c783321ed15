/** @jsxRuntime automatic @jsxImportSource preact */
import type { Attachment } from '../../records/schema/index.ts'
import { Link, Size } from '../parts/components.tsx'
import { Icon } from '../parts/inline.tsx'

/** Files of an issue, a comment or a release. */
export const AttachedFiles = ({ files }: { files: readonly Attachment[] }) =>
  files.length === 0 ? null : (
    <ul class="plain facts attached">
      {files.map(({ id, uuid, name, size }) => (
        <li key={id} class="line">
          <span>
            <Icon name="file" />{' '}
            <Link to={`/-/attachments/${uuid}`}>
              <bdi>{name}</bdi>
            </Link>
          </span>{' '}
          <Size bytes={size} />
        </li>
      ))}
    </ul>
  )
