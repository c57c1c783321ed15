/** @jsxRuntime automatic @jsxImportSource preact */
import type { Attachment } from '../../records/schema/index.ts'
import { Link, Size } from '../parts/components.tsx'

/** Files of an issue, a comment or a release. */
export const AttachedFiles = ({ files }: { files: readonly Attachment[] }) =>
  files.length === 0 ? null : (
    <ul class="plain facts attached">
      {files.map(({ id, uuid, name, size }) => (
        <li key={id} class="line">
          <Link to={`/-/attachments/${uuid}`}>
            <bdi>{name}</bdi>
          </Link>{' '}
          <Size bytes={size} />
        </li>
      ))}
    </ul>
  )
