/** The wire format of what counts toward quota, entry by entry. Links are empty in a repository that is hidden from the viewer. */
import * as v from 'valibot'
import type { Attached, UsedEntry } from '../../content/usage-lists.ts'
import type { LedgerEntry } from '../../records/schema/index.ts'
import { tagPath } from '../content/attachments.ts'
import { packageUrl } from '../content/packages.ts'

export const QuotaUsedAttachment = v.object({
  name: v.string(),
  size: v.number(),
  api_url: v.string(),
  contained_in: v.object({ api_url: v.string(), html_url: v.string() }),
})

export const QuotaUsedPackage = v.object({
  name: v.string(),
  type: v.string(),
  version: v.string(),
  size: v.number(),
  html_url: v.string(),
})

export const QuotaUsedArtifact = v.object({ name: v.string(), size: v.number(), html_url: v.string() })

/** What the links of all entries of a list begin with. */
export interface UsedListUrls {
  readonly baseUrl: string
  readonly apiUrl: string
  /** Name of the owner. */
  readonly owner: string
}

export const presentUsedAttachment = (
  { entry, repository, attached, isHidden }: UsedEntry,
  { baseUrl, apiUrl, owner }: UsedListUrls,
): v.InferOutput<typeof QuotaUsedAttachment> => {
  const { name, size, key, index } = entry
  if (isHidden) return { name, size, api_url: '', contained_in: { api_url: '', html_url: '' } }
  const path = `${owner}/${repository}`
  const { api, page } = attached === undefined ? externalPaths(entry) : targetPaths(attached, index ?? 0)
  const target = `${apiUrl}/repos/${path}/${api}`
  return {
    name,
    size,
    api_url: `${target}/assets/${attached?.id ?? encodeURIComponent(key)}`,
    contained_in: { api_url: target, html_url: `${baseUrl}/${path}/${page}` },
  }
}

/** Paths below a repository of what an attachment is attached to. @param issue number of the issue of a comment */
const targetPaths = ({ on, targetId, tag }: Attached, issue: number): { api: string; page: string } => {
  switch (on) {
    case 'issue':
      return { api: `issues/${targetId}`, page: `issues/${targetId}` }
    case 'comment':
      return { api: `issues/comments/${targetId}`, page: `issues/${issue}#issuecomment-${targetId}` }
    case 'release':
      return { api: `releases/${targetId}`, page: tagPath(tag ?? '') }
  }
}

/** The same for an attachment that the host keeps, with the host's own number of the issue or the release. */
const externalPaths = ({ on, index }: LedgerEntry) => {
  const path = `${on === 'issue' ? 'issues' : 'releases'}/${index ?? 0}`
  return { api: path, page: path }
}

export const presentUsedPackage = (
  { entry, isHidden }: UsedEntry,
  { baseUrl, owner }: UsedListUrls,
): v.InferOutput<typeof QuotaUsedPackage> => {
  const { name, size } = entry
  const [type, version] = [entry.type ?? '', entry.version ?? '']
  const html_url = isHidden ? '' : packageUrl(baseUrl, owner, { type, name, version })
  return { name, type, version, size, html_url }
}

export const presentUsedArtifact = (
  { entry, repository, isHidden }: UsedEntry,
  { baseUrl, owner }: UsedListUrls,
): v.InferOutput<typeof QuotaUsedArtifact> => ({
  name: entry.name,
  size: entry.size,
  html_url: isHidden ? '' : `${baseUrl}/${owner}/${repository}/actions/runs/${entry.run ?? 0}`,
})
