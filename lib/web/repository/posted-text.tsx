/** The text of an issue or of a comment, with who wrote it and the files that belong to it. */
import type { ContentDetails } from '../../content/details.ts'
import type { Comment, Issue } from '../../records/schema/index.ts'
import { Link } from '../parts/components.tsx'
import { Dots } from '../parts/inline.tsx'
import { Day } from '../parts/times.tsx'
import { AccountLink } from '../people/account-parts.tsx'
import { AttachedFiles } from './attached-files.tsx'
import { Prose, type RenderedText } from './rendered-text.tsx'

export const PostedText = ({
  details: { record, author, attachments },
  text,
  verb,
  to,
}: {
  details: ContentDetails<Issue | Comment>
  text: RenderedText
  verb: string
  /** Address of a comment. */
  to?: string
}) => (
  <article id={'number' in record ? undefined : `issuecomment-${record.id}`} class="card post">
    <p class="small">
      <Dots
        facts={[
          <>
            <AccountLink account={author} /> {verb} on{' '}
            {to === undefined ? (
              <Day seconds={record.createdAt} />
            ) : (
              <Link to={to} class="quiet">
                <Day seconds={record.createdAt} />
              </Link>
            )}
          </>,
          record.updatedAt > record.createdAt && !('number' in record) && 'edited',
        ]}
      />
    </p>
    {record.body === '' ? <p class="muted">No text.</p> : <Prose text={text} />}
    <AttachedFiles files={attachments} />
  </article>
)
