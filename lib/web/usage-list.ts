import type { Viewer } from '../accounts/access.ts'
import type { Slice } from '../accounts/visible-page.ts'
import { usedArtifactResource, usedAttachmentResource, usedPackageResource } from '../api/quota/schema.ts'
import type { UsedEntry } from '../content/usage-lists.ts'
import type { Account, Repository } from '../records/schema/index.ts'
import type { PageContext, PageServices } from './route.ts'
import type { Item, UsageKind, UsageListData } from './usage-list.tsx'

/** A page of what an owner has of a kind, largest first. */
export const usageList = async (
  services: PageServices,
  frame: PageContext,
  viewer: Viewer,
  owner: Account,
  kind: UsageKind,
  slice: Slice,
): Promise<UsageListData> => {
  const { hosting } = services
  if (kind === 'repositories') {
    const { items, total } = await hosting.listings.of(viewer, owner.id, 'reversesize', slice)
    return { kind, total, items: items.map((one) => repositoryItem(frame, owner, one)) }
  }
  const { items, total } = await hosting.usage.used(viewer, owner.id, kind, slice)
  const site = services.settings.links ? frame.site : undefined
  return { kind, total, items: items.map((one) => entryItem(one, owner.name, site)) }
}

const repositoryItem = ({ at }: PageContext, owner: Account, repository: Repository): Item => ({
  key: repository.name,
  name: repository.name,
  about: [
    repository.private ? 'private' : 'public',
    ...(repository.description === '' ? [] : [repository.description]),
  ].join(' · '),
  bytes: repository.size,
  href: at(`/-/storage/${owner.name}/repositories/${repository.name}`),
  repository: undefined,
})

const entryItem = (
  { entry, repository, attached, isHidden }: UsedEntry,
  owner: string,
  site: string | undefined,
): Item => ({
  key: entry.key,
  name: isHidden ? 'In a private repository' : entry.name,
  about: isHidden ? 'not shown: this session may not read repositories' : aboutOf(entry),
  bytes: entry.size,
  href: site === undefined || isHidden ? undefined : htmlUrlOf({ entry, repository, attached }, owner, site),
  repository,
})

const aboutOf = ({ kind, on, index, run, type, version }: UsedEntry['entry']): string => {
  if (kind === 'packages') return [type, version].filter(Boolean).join(' ')
  if (kind === 'artifacts') return `run ${run ?? 0}`
  return `${on === 'issue' ? 'issue' : 'release'} ${index ?? 0}`
}

/** Where the API says that it is. */
const htmlUrlOf = ({ entry, repository, attached }: UsedEntry, owner: string, baseUrl: string): string => {
  const place = { baseUrl, apiUrl: '', owner, repository, attached }
  if (entry.kind === 'packages') return usedPackageResource(entry, place).html_url
  if (entry.kind === 'artifacts') return usedArtifactResource(entry, place).html_url
  return usedAttachmentResource(entry, place).contained_in.html_url
}
