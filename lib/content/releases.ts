import { isDeepStrictEqual } from 'node:util'
import { permissionOn, type SignedIn, type Viewer } from '../accounts/access.ts'
import { existingAccount, readableRepository } from '../accounts/find.ts'
import { now } from '../clock.ts'
import { AllotError, invalidMember } from '../errors.ts'
import { isRefName } from '../git/ref-names.ts'
import { type EditOf, savedMembers } from '../records/edits.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { merge, pageOf } from '../records/merge.ts'
import type { Page, Slice, WithPage } from '../records/pages.ts'
import { type Release, type Repository, releases } from '../records/schema/index.ts'
import { takeNumber, type WriteContext } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { RepositoryName } from '../repositories/names.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import { type InRepository, requireWriter, writeAccess } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { countTexts } from './daily-limits.ts'
import { removeContent } from './removers.ts'

/** What an edit may change. */
const EDITED = ['tag', 'target', 'name', 'body', 'draft', 'prerelease'] as const
export type ReleaseEdit = EditOf<Release, (typeof EDITED)[number]>

interface NewRelease extends ReleaseEdit {
  /** Name of its tag, unique in the repository. */
  tag: string
}

interface ReleaseQuery {
  /** `true` finds drafts only, `false` no drafts. */
  draft?: boolean | undefined
  /** `true` finds prereleases only, `false` no prereleases. */
  prerelease?: boolean | undefined
}

/** A release by id or tag; `latest` is the newest that is neither a draft nor a prerelease. */
export type WhichRelease =
  | {
      /** Id of a release. */
      id: number
    }
  | {
      /** Tag of a release. */
      tag: string
    }
  | 'latest'

interface WithRelease {
  /** The release. */
  readonly release: Release
}

export type FoundRelease = InRepository<WithRelease>
type ReleasePage = InRepository<WithPage<Release>>

/**
 * Releases of repositories. Only users with write permission can see drafts, in lists and totals too. Methods
 * return undefined when one does not exist or the viewer cannot see it.
 */
export class Releases {
  readonly #services: RepositoryServices

  constructor(services: RepositoryServices) {
    this.#services = services
  }

  /**
   * Creates a release.
   * @throws AllotError conflict when the repository has a release of that tag; forbidden without write
   * permission; invalid for a text that is too long, and a tag that git does not take; too_large beyond the
   * text of a day; not_found when the viewer was deleted meanwhile
   */
  async create(
    viewer: SignedIn,
    path: RepositoryName,
    newRelease: NewRelease,
  ): Promise<FoundRelease | undefined> {
    const { store } = this.#services
    const { tag, target, name, body = '', draft = false, prerelease = false } = newRelease
    checkTexts('release', { tag, target, name, body })
    return store.write(async (tx) => {
      const createdAt = now()
      const access = await writeAccess(tx, viewer, path, 'releases')
      if (access === undefined) return undefined
      requireWriter(access)
      const { repository } = access
      const { id: author } = await existingAccount(tx, viewer.id)
      await checkTag(tx, repository, tag)
      await countTexts(tx, this.#services, author, [name, body])
      const release: Release = {
        id: await takeNumber(tx, 'release'),
        repository: repository.id,
        tag,
        target: target || repository.defaultBranch,
        name: name || tag,
        body,
        draft,
        prerelease,
        author,
        createdAt,
        publishedAt: draft ? null : createdAt,
      }
      await releases.save(tx, release)
      await this.#record(tx, 'published', { repository, release }, author)
      return { repository, release }
    })
  }

  /** The release with the id or the tag, or the latest one. */
  find(viewer: Viewer, path: RepositoryName, which: WhichRelease): Promise<FoundRelease | undefined> {
    return this.#services.store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, path.owner, path.name, 'releases')
      const release = repository && (await releaseIn(tx, repository, which))
      if (repository === undefined || release === undefined) return undefined
      if (release.draft && !(await permissionOn(tx, viewer, repository, 'releases')).push) return undefined
      return { repository, release }
    })
  }

  /** Releases, newest first. */
  list(
    viewer: Viewer,
    path: RepositoryName,
    query: ReleaseQuery,
    slice: Slice,
  ): Promise<ReleasePage | undefined> {
    return this.#services.store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, path.owner, path.name, 'releases')
      if (repository === undefined) return undefined
      const { push } = await permissionOn(tx, viewer, repository, 'releases')
      return { repository, page: await list(tx, repository.id, push, query, slice) }
    })
  }

  /**
   * Changes a release.
   * @throws AllotError conflict, forbidden, invalid and too_large as for `create`
   */
  edit(
    viewer: SignedIn,
    path: RepositoryName,
    id: number,
    edit: ReleaseEdit,
  ): Promise<FoundRelease | undefined> {
    return this.#services.store.write(async (tx) => {
      const found = await writableRelease(tx, viewer, path, { id })
      if (found === undefined) return undefined
      checkTexts('release', edit)
      const release = edited(found.release, edit)
      if (isDeepStrictEqual(release, found.release)) return found
      const { name, body } = found.release
      await countTexts(tx, this.#services, viewer.id, [edit.name, edit.body], [name, body])
      if (release.tag !== found.release.tag) await checkTag(tx, found.repository, release.tag)
      await releases.save(tx, release)
      const action = found.release.draft ? 'published' : 'updated'
      await this.#record(tx, action, { ...found, release }, viewer.id)
      return { ...found, release }
    })
  }

  /**
   * Deletes a release.
   * @throws AllotError forbidden without write permission
   */
  remove(viewer: SignedIn, path: RepositoryName, which: Exclude<WhichRelease, 'latest'>): Promise<boolean> {
    return this.#services.disk.write(async (tx) => {
      const found = await writableRelease(tx, viewer, path, which)
      if (found === undefined) return false
      await this.#record(tx, 'deleted', found, viewer.id)
      return removeContent(tx, this.#services, { on: 'release', id: found.release.id })
    })
  }

  /** Reports a change of a release, except of a draft. */
  async #record(
    tx: WriteContext,
    action: 'published' | 'updated' | 'deleted',
    { repository, release }: FoundRelease,
    by: number,
  ): Promise<void> {
    if (!release.draft)
      await this.#services.outbox.record(tx, { event: 'release', action, repository, release, by })
  }
}

/**
 * A release that the viewer can change.
 * @throws AllotError forbidden
 */
const writableRelease = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  path: RepositoryName,
  which: WhichRelease,
): Promise<FoundRelease | undefined> => {
  const access = await writeAccess(tx, viewer, path, 'releases')
  const release = access && (await releaseIn(tx, access.repository, which))
  if (access === undefined || release === undefined) return undefined
  if (release.draft && !access.permission.push) return undefined
  requireWriter(access)
  return { repository: access.repository, release }
}

const releaseIn = async (
  tx: ReadTransaction,
  { id: repository }: Repository,
  which: WhichRelease,
): Promise<Release | undefined> => {
  if (which === 'latest') {
    const listing = { prefix: [repository, false, false], reverse: true, limit: 1 }
    return (await releases.list(tx, 'time', listing))[0]
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
  const kinds = kindsOf(repository, drafts, prereleases)
  const listings = kinds.map((prefix) => releases.entries(tx, 'time', { prefix, reverse: true }))
  return {
    items: await releases.load(tx, await pageOf(merge(listings, true), slice)),
    total: await countKinds(tx, kinds),
  }
}

/** A draft is published when an edit makes it a release. */
const edited = (before: Release, edit: ReleaseEdit): Release => {
  // Clients in Go send an empty string for a member that is not set.
  const texts = { tag: edit.tag || undefined, target: edit.target || undefined, name: edit.name || undefined }
  const after = { ...before, ...savedMembers({ ...edit, ...texts }, EDITED) }
  return { ...after, publishedAt: after.draft ? null : (before.publishedAt ?? now()) }
}

const MAX_TAG_LENGTH = 255

/** @throws AllotError invalid for a bad name, conflict when the tag has a release */
const checkTag = async (tx: ReadTransaction, repository: Repository, tag: string): Promise<void> => {
  if (!isRefName(tag)) throw invalidMember('tag_name', `${JSON.stringify(tag)} is not a valid tag name`)
  if ((await releaseIn(tx, repository, { tag })) !== undefined)
    throw new AllotError('conflict', `the tag ${tag} already has a release`)
}

/**
 * Number of releases.
 * @param withDrafts whether drafts are counted, which only users with write permission can see
 */
export const countReleases = async (
  tx: ReadTransaction,
  repository: number,
  withDrafts = false,
): Promise<number> => countKinds(tx, kindsOf(repository, withDrafts ? [false, true] : [false], [false, true]))

const kindsOf = (repository: number, drafts: readonly boolean[], prereleases: readonly boolean[]) =>
  drafts.flatMap((isDraft) => prereleases.map((isPre) => [repository, isDraft, isPre]))

const countKinds = async (tx: ReadTransaction, kinds: readonly KeyTuple[]): Promise<number> => {
  const counts = await Promise.all(kinds.map((kind) => releases.count(tx, 'kind', kind)))
  return counts.reduce((sum, count) => sum + count, 0)
}
