import * as v from 'valibot'
import type { Release as Record } from '../../records/schema/index.ts'
import { timestamp } from '../time.ts'
import { User } from '../user-schema.ts'
import { Attachment, tagPath } from './attachment-schema.ts'
import { type IssueLinks, type IssueLocation, urlsOf } from './issue-schema.ts'

export const Release = v.object({
  id: v.number(),
  tag_name: v.string(),
  target_commitish: v.string(),
  name: v.string(),
  body: v.string(),
  url: v.string(),
  html_url: v.string(),
  /** Empty: no archives are made here. */
  tarball_url: v.string(),
  zipball_url: v.string(),
  hide_archive_links: v.boolean(),
  upload_url: v.string(),
  draft: v.boolean(),
  prerelease: v.boolean(),
  created_at: v.string(),
  published_at: v.nullable(v.string()),
  author: User,
  assets: v.array(Attachment),
  archive_download_count: v.object({ zip: v.number(), tar_gz: v.number() }),
})
export type Release = v.InferOutput<typeof Release>

export const releaseResource = (
  record: Record,
  { user, assets }: IssueLinks,
  where: IssueLocation,
): Release => {
  const { page, api } = urlsOf(where)
  const url = `${api}/releases/${record.id}`
  return {
    id: record.id,
    tag_name: record.tag,
    target_commitish: record.target,
    name: record.name,
    body: record.body,
    url,
    html_url: `${page}/${tagPath(record.tag)}`,
    tarball_url: '',
    zipball_url: '',
    hide_archive_links: true,
    upload_url: `${url}/assets`,
    draft: record.draft,
    prerelease: record.prerelease,
    created_at: timestamp(record.createdAt),
    published_at: record.publishedAt === null ? null : timestamp(record.publishedAt),
    author: user,
    assets,
    archive_download_count: { zip: 0, tar_gz: 0 },
  }
}
