import * as v from 'valibot'

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
