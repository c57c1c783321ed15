import * as v from 'valibot'
import type { Viewer } from '../../accounts/access.ts'
import type { Account, PackageFile as FileRecord, PackageVersion } from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import type { Urls } from '../repository-presenter.ts'
import { timestamp } from '../time.ts'
import { User, userResource } from '../user-schema.ts'
import { ghost, shownAccounts } from './presenter.ts'

export const Package = v.object({
  id: v.number(),
  owner: User,
  /** Packages belong to their owner alone here. */
  repository: v.null(),
  creator: User,
  type: v.string(),
  name: v.string(),
  version: v.string(),
  html_url: v.string(),
  created_at: v.string(),
})
export type Package = v.InferOutput<typeof Package>

/** The wire format has `Size`, capitalised. */
export const PackageFile = v.object({
  id: v.number(),
  Size: v.number(),
  name: v.string(),
  md5: v.string(),
  sha1: v.string(),
  sha256: v.string(),
  sha512: v.string(),
})
export type PackageFile = v.InferOutput<typeof PackageFile>

export const presentPackages = (
  store: Store,
  viewer: Viewer,
  { baseUrl }: Pick<Urls, 'baseUrl'>,
  owner: Account,
  versions: readonly PackageVersion[],
): Promise<Package[]> =>
  store.read(async (tx) => {
    const creators = await shownAccounts(
      tx,
      viewer,
      versions.map(({ creator }) => creator),
    )
    return versions.map(({ id, type, name, version, creator, createdAt }) => ({
      id,
      owner: userResource(owner, viewer, baseUrl),
      repository: null,
      creator: userResource(creators.get(creator) ?? ghost, viewer, baseUrl),
      ...{ type, name, version },
      html_url: packageUrl(baseUrl, owner.name, [type, name, version]),
      created_at: timestamp(createdAt),
    }))
  })

export const packageUrl = (baseUrl: string, owner: string, parts: [string, string, string]): string =>
  `${baseUrl}/${owner}/-/packages/${parts.map(encodeURIComponent).join('/')}`

export const packageFileResource = ({
  id,
  size,
  name,
  md5,
  sha1,
  sha256,
  sha512,
}: FileRecord): PackageFile => ({
  ...{ id, Size: size, name, md5, sha1, sha256, sha512 },
})
