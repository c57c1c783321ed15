import * as v from 'valibot'
import type { Attached } from '../../content/usage-lists.ts'
import type { Attachment as Record } from '../../records/schema/index.ts'
import { timestamp } from '../time.ts'

export const Attachment = v.object({
  id: v.number(),
  name: v.string(),
  /** Bytes */
  size: v.number(),
  download_count: v.number(),
  created_at: v.string(),
  uuid: v.string(),
  browser_download_url: v.string(),
  type: v.literal('attachment'),
})
export type Attachment = v.InferOutput<typeof Attachment>

export const attachmentResource = (record: Record, baseUrl: string): Attachment => ({
  id: record.id,
  name: record.name,
  size: record.size,
  download_count: record.downloads,
  created_at: timestamp(record.createdAt),
  uuid: record.uuid,
  browser_download_url: `${baseUrl}/attachments/${record.uuid}`,
  type: 'attachment',
})

/** Where what an attachment hangs on is, below its repository. @param issue the number of the issue, for a comment */
export const holderPaths = ({ on, holder, tag }: Attached, issue: number): { api: string; page: string } => {
  switch (on) {
    case 'issue':
      return { api: `issues/${holder}`, page: `issues/${holder}` }
    case 'comment':
      return { api: `issues/comments/${holder}`, page: `issues/${issue}#issuecomment-${holder}` }
    case 'release':
      return { api: `releases/${holder}`, page: tagPath(tag ?? '') }
  }
}

export const tagPath = (tag: string): string =>
  `releases/tag/${tag.split('/').map(encodeURIComponent).join('/')}`
