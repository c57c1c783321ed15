import { existingAccount, permissionOn, readableRepository, type Viewer } from '../accounts/access.ts'
import { definedMembers } from '../accounts/accounts.ts'
import { checkTexts, isRefName } from '../accounts/names.ts'
import { now } from '../clock.ts'
import { AllotError, invalid } from '../errors.ts'
import type { Page, Slice } from '../records/collection.ts'
import { merge, pageOf } from '../records/merge.ts'
import { type Release, type Repository, releases } from '../records/schema/index.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import { type InRepository, requireWriter, type SignedIn, writeAccess } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type AttachmentParts, removeAttachments } from './attachment-records.ts'

export interface ReleaseEdit {
  tag?: string | undefined
  target?: string | undefined
  name?: string | undefined
  body?: string | undefined
  draft?: boolean | undefined
  prerelease?: boolean | undefined
}

interface ReleaseQuery {
  draft?: boolean | undefined
  prerelease?: boolean | undefined
}

/** A release by id or tag; `latest` is the newest that is neither a draft nor a prerelease. */
export type WhichRelease = { id: number } | { tag: string } | 'latest'

/**
 * Releases of repositories. Only users with write permission can see drafts, in lists and totals too. Methods return
 * undefined for what does not exist or the viewer cannot see.
 */
export interface Releases {
  /** @throws AllotError conflict when the repository has a release of that tag; forbidden without write permission */
  create(
    viewer: SignedIn,
    path: RepositoryName,
    release: ReleaseEdit & { tag: string },
  ): Promise<InRepository<{ release: Release }> | undefined>
  find(
    viewer: Viewer,
    path: RepositoryName,
    which: WhichRelease,
  ): Promise<InRepository<{ release: Release }> | undefined>
  /** Releases, newest first. */
  list(
    viewer: Viewer,
    path: RepositoryName,
    query: ReleaseQuery,
    slice: Slice,
  ): Promise<InRepository<{ page: Page<Release> }> | undefined>
  /** @throws AllotError conflict and forbidden as for `create` */
  edit(
    viewer: SignedIn,
    path: RepositoryName,
    id: number,
    edit: ReleaseEdit,
  ): Promise<InRepository<{ release: Release }> | undefined>
  remove(viewer: SignedIn, path: RepositoryName, which: Exclude<WhichRelease, 'latest'>): Promise<boolean>
}

export const createReleases = (parts: AttachmentParts): Releases => ({
  ...releaseQueries(parts),
  ...releaseChanges(parts),
})

const releaseQueries = (parts: AttachmentParts): Pick<Releases, 'find' | 'list'> => {
  const { store } = parts
  return {
    find: (viewer, path, which) =>
      store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, path.owner, path.name)
        const release = repository && (await releaseIn(tx, repository, which))
        if (repository === undefined || release === undefined) return undefined
        if (release.draft && !(await permissionOn(tx, viewer, repository)).push) return undefined
        return { repository, release }
      }),
    list: (viewer, path, query, slice) =>
      store.read(async (tx) => {
        const repository = await readableRepository(tx, viewer, path.owner, path.name)
        if (repository === undefined) return undefined
        const { push } = await permissionOn(tx, viewer, repository)
        return { repository, page: await list(tx, repository.id, push, query, slice) }
      }),
  }
}

const releaseChanges = (parts: AttachmentParts): Pick<Releases, 'create' | 'edit' | 'remove'> => {
  const { store, files } = parts
  return {
    async create(viewer, path, { tag, target, name, body = '', draft = false, prerelease = false }) {
      checkTexts('release', { tag, target, name, body })
      const id = await store.sequences.next('release')
      return store.write(async (tx) => {
        const access = await writeAccess(tx, viewer, path)
        if (access === undefined) return undefined
        requireWriter(access)
        const { repository } = access
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
    edit: (viewer, path, id, edit) =>
      store.write(async (tx) => {
        const access = await writeAccess(tx, viewer, path)
        const before = access && (await releaseIn(tx, access.repository, { id }))
        if (access === undefined || before === undefined) return undefined
        if (before.draft && !access.permission.push) return undefined
        requireWriter(access)
        checkTexts('release', edit)
        const release = edited(before, edit)
        if (release.tag !== before.tag) {
          checkTag(release.tag)
          await refuseTaken(tx, access.repository, release.tag)
        }
        await releases.save(tx, release)
        return { repository: access.repository, release }
      }),
    async remove(viewer, path, which) {
      const removed = await store.write(async (tx) => {
        const access = await writeAccess(tx, viewer, path)
        const release = access && (await releaseIn(tx, access.repository, which))
        if (access === undefined || release === undefined) return false
        if (release.draft && !access.permission.push) return false
        requireWriter(access)
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
    return which.tag.length > MAX_TAG_LENGTH ? undefined : releases.findBy(tx, 'tag', [repository, which.tag])
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
  const drafts = [false, true].filter((isDraft) => (draft ?? isDraft) === isDraft && (seesDrafts || !isDraft))
  const prereleases = [false, true].filter((isPre) => (prerelease ?? isPre) === isPre)
  const kinds = drafts.flatMap((isDraft) => prereleases.map((isPre) => [repository, isDraft, isPre]))
  const counts = await Promise.all(kinds.map((kind) => releases.count(tx, 'kind', kind)))
  const listings = kinds.map((prefix) => releases.entries(tx, 'time', { prefix, reverse: true }))
  return {
    items: await releases.load(tx, await pageOf(merge(listings, true), slice)),
    total: counts.reduce((sum, count) => sum + count, 0),
  }
}

/** A draft is published when an edit makes it a release. */
const edited = (before: Release, { tag, target, name, ...edit }: ReleaseEdit): Release => {
  // Clients in Go send an empty string for a member that is not set.
  const texts = { tag: tag || undefined, target: target || undefined, name: name || undefined }
  const after = { ...before, ...definedMembers(edit), ...definedMembers(texts) }
  return { ...after, publishedAt: after.draft ? null : (before.publishedAt ?? now()) }
}

const MAX_TAG_LENGTH = 255

const checkTag = (tag: string): void => {
  if (!isRefName(tag)) throw invalid(`tag_name: ${JSON.stringify(tag)} is not a valid tag name`)
}

const refuseTaken = async (tx: ReadTransaction, repository: Repository, tag: string): Promise<void> => {
  if ((await releaseIn(tx, repository, { tag })) !== undefined)
    throw new AllotError('conflict', `the tag ${tag} has a release already`)
}

/** Number of releases without drafts. */
export const countReleases = async (tx: ReadTransaction, repository: number): Promise<number> => {
  const counts = [false, true].map((prerelease) =>
    releases.count(tx, 'kind', [repository, false, prerelease]),
  )
  const [final, pre] = await Promise.all(counts)
  return final! + pre!
}
