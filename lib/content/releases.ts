import { existingAccount, permissionOn, readableRepository, type Viewer } from '../accounts/access.ts'
import { definedMembers } from '../accounts/accounts.ts'
import { checkTexts, isRefName } from '../accounts/names.ts'
import type { Page, Slice } from '../accounts/visible-page.ts'
import { now } from '../clock.ts'
import { AllotError, invalid } from '../errors.ts'
import { merge, pageOf } from '../records/merge.ts'
import { type Release, type Repository, releases } from '../records/schema/index.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import { type InRepository, requireWriter, type SignedIn, writeAccess } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type AttachmentParts, removeAttachments } from './attachment-records.ts'

export interface ReleaseEdit {
  tag?: string | undefined
  target?: string | undefined
  name?: string | undefined
  body?: string | undefined
  draft?: boolean | undefined
  prerelease?: boolean | undefined
}

export interface ReleaseQuery {
  draft?: boolean | undefined
  prerelease?: boolean | undefined
}

/** How a release is asked for; `latest` is the newest that is neither a draft nor a prerelease. */
export type WhichRelease = { id: number } | { tag: string } | 'latest'

/**
 * Drafts are for those who may write to the repository: to all others they are not there, in no list and no total.
 * Undefined answers stand for what is not there, or what the viewer may not know of.
 */
export interface Releases {
  /** @throws AllotError conflict when the repository has a release of that tag; forbidden for readers. */
  create(
    viewer: SignedIn,
    at: RepositoryName,
    release: ReleaseEdit & { tag: string },
  ): Promise<InRepository<{ release: Release }> | undefined>
  find(
    viewer: Viewer,
    at: RepositoryName,
    which: WhichRelease,
  ): Promise<InRepository<{ release: Release }> | undefined>
  /** The newest first. */
  list(
    viewer: Viewer,
    at: RepositoryName,
    query: ReleaseQuery,
    slice: Slice,
  ): Promise<InRepository<{ page: Page<Release> }> | undefined>
  /** @throws AllotError conflict and forbidden, likewise */
  edit(
    viewer: SignedIn,
    at: RepositoryName,
    id: number,
    edit: ReleaseEdit,
  ): Promise<InRepository<{ release: Release }> | undefined>
  remove(viewer: SignedIn, at: RepositoryName, which: Exclude<WhichRelease, 'latest'>): Promise<boolean>
}

export const createReleases = (parts: AttachmentParts): Releases => {
  const { store, files } = parts
  return {
    async create(viewer, at, { tag, target, name, body = '', draft = false, prerelease = false }) {
      checkTexts('release', { tag, target, name, body })
      const id = await store.sequences.next('release')
      return store.write(async (tx) => {
        const place = await writeAccess(tx, viewer, at)
        if (place === undefined) return undefined
        requireWriter(place)
        const { repository } = place
        const { id: author } = await existingAccount(tx, viewer.id)
        checkTag(tag)
        await refuseTaken(tx, repository, tag)
        const release: Release = {
          ...{ id, repository: repository.id, tag, target: target || repository.defaultBranch },
          ...{ name: name || tag, body, draft, prerelease, author },
          ...{ createdAt: now(), publishedAt: draft ? null : now() },
        }
        await releases.save(tx, release)
        return { repository, release }
      })
    },
    find: (viewer, at, which) =>
      store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, at.owner, at.name)
        const release = repository && (await releaseIn(tx, repository, which))
        if (repository === undefined || release === undefined) return undefined
        if (release.draft && !(await permissionOn(tx, viewer, repository)).push) return undefined
        return { repository, release }
      }),
    list: (viewer, at, query, slice) =>
      store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, at.owner, at.name)
        if (repository === undefined) return undefined
        const { push } = await permissionOn(tx, viewer, repository)
        return { repository, page: await list(tx, repository.id, push, query, slice) }
      }),
    edit: (viewer, at, id, edit) =>
      store.write(async (tx) => {
        const place = await writeAccess(tx, viewer, at)
        const before = place && (await releaseIn(tx, place.repository, { id }))
        if (place === undefined || before === undefined) return undefined
        if (before.draft && !place.permission.push) return undefined
        requireWriter(place)
        checkTexts('release', edit)
        const release = edited(before, edit)
        if (release.tag !== before.tag) {
          checkTag(release.tag)
          await refuseTaken(tx, place.repository, release.tag)
        }
        await releases.save(tx, release)
        return { repository: place.repository, release }
      }),
    async remove(viewer, at, which) {
      const removed = await store.write(async (tx) => {
        const place = await writeAccess(tx, viewer, at)
        const release = place && (await releaseIn(tx, place.repository, which))
        if (place === undefined || release === undefined) return false
        if (release.draft && !place.permission.push) return false
        requireWriter(place)
        await removeAttachments(tx, parts, { on: 'release', id: release.id })
        await releases.remove(tx, [release.id])
        return true
      })
      if (removed) await files.idle()
      return removed
    },
  }
}

export const releaseIn = async (
  tx: ReadTransaction,
  { id: repository }: Repository,
  which: WhichRelease,
): Promise<Release | undefined> => {
  if (which === 'latest') {
    const [newest] = await releases.list(tx, 'time', {
      prefix: [repository, false, false],
      reverse: true,
      limit: 1,
    })
    return newest
  }
  if ('tag' in which)
    return which.tag.length > LONGEST_TAG ? undefined : releases.findBy(tx, 'tag', [repository, which.tag])
  const release = await releases.get(tx, [which.id])
  return release?.repository === repository ? release : undefined
}

const list = async (
  tx: ReadTransaction,
  repository: number,
  seesDrafts: boolean,
  { draft, prerelease }: ReleaseQuery,
  slice: Slice,
): Promise<Page<Release>> => {
  const drafts = [false, true].filter((one) => (draft ?? one) === one && (seesDrafts || !one))
  const kinds = drafts.flatMap((one) =>
    [false, true].filter((pre) => (prerelease ?? pre) === pre).map((pre) => [repository, one, pre]),
  )
  const counts = await Promise.all(kinds.map((kind) => releases.count(tx, 'kind', kind)))
  const listings = kinds.map((prefix) => releases.entries(tx, 'time', { prefix, reverse: true }))
  return {
    items: await releases.load(tx, await pageOf(merge(listings, true), slice)),
    total: counts.reduce((sum, one) => sum + one, 0),
  }
}

/** What turns from a draft into a release is published then. */
const edited = (before: Release, { tag, target, name, ...edit }: ReleaseEdit): Release => {
  // Go's clients send a string without a value as an empty one.
  const texts = { tag: tag || undefined, target: target || undefined, name: name || undefined }
  const after = { ...before, ...definedMembers(edit), ...definedMembers(texts) }
  return { ...after, publishedAt: after.draft ? null : (before.publishedAt ?? now()) }
}

const LONGEST_TAG = 255

const checkTag = (tag: string): void => {
  if (!isRefName(tag)) throw invalid(`tag_name: ${JSON.stringify(tag)} is not a valid tag name`)
}

const refuseTaken = async (tx: ReadTransaction, repository: Repository, tag: string): Promise<void> => {
  if ((await releaseIn(tx, repository, { tag })) !== undefined)
    throw new AllotError('conflict', `there is a release of the tag ${tag} already`)
}

/** How many there are, drafts left out. */
export const countReleases = async (tx: ReadTransaction, repository: number): Promise<number> => {
  const counts = [false, true].map((prerelease) =>
    releases.count(tx, 'kind', [repository, false, prerelease]),
  )
  const [final, pre] = await Promise.all(counts)
  return final! + pre!
}
