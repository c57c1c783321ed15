import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { repositoryById } from '../accounts/find.ts'
import { AllotError, existing, invalidMember } from '../errors.ts'
import { isRefName } from '../git/ref-names.ts'
import {
  type Attachment,
  accounts,
  attachments,
  type Comment,
  comments,
  type Issue,
  issueSequences,
  issues,
  type MigrationRecord,
  type Release,
  releases,
} from '../records/schema/index.ts'
import { takeNumber, type WriteContext } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { MigrationLog, NewMigrationRecord } from '../repositories/migration-log.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import {
  checkFileName,
  filePlaceOf,
  isFull,
  refuseFull,
  removeAttachment,
  saveAttachment,
} from './attachment-records.ts'
import { anyTarget } from './attachment-targets.ts'
import { subscribeAuthor } from './issue-events.ts'
import { checkIssue } from './issues.ts'
import { removeContent } from './removers.ts'

/** The name and the digests of content at the source: the record of the migration without the copy. */
export type Origin = Pick<NewMigrationRecord, 'scope' | 'name' | 'digest'>

type MigratedIssue = Omit<Issue, 'id'>
type MigratedComment = Omit<Comment, 'id' | 'repository'>
type MigratedRelease = Omit<Release, 'id'>
type MigratedAttachment = Omit<Attachment, 'id' | 'uuid' | 'repository'>

/** Kinds of content. */
export type ContentKind = keyof typeof COLLECTIONS

/** What belongs to an issue, a comment or a release, and is removed with it. */
type ContentPart =
  | { readonly kind: 'comment'; readonly record: Comment }
  | { readonly kind: 'attachment'; readonly record: Attachment }

const GONE = 'what it is attached to was deleted'

/**
 * Writes issues, comments, releases and attachments as another server had them: with its
 * numbers, authors and dates. Invariant: the content and the migration's record of it are saved in one
 * transaction, so a run that was interrupted copies nothing twice.
 */
export class MigratedContent {
  readonly #services: RepositoryServices
  readonly #migrationLog: MigrationLog

  /** @param migrationLog of the server that was copied from */
  constructor(services: RepositoryServices, migrationLog: MigrationLog) {
    this.#services = services
    this.#migrationLog = migrationLog
  }

  /** @returns an id that no account will ever have: authors who do not exist here are shown as a ghost */
  ghost(): Promise<number> {
    return this.#services.store.write((tx) => takeNumber(tx, 'account'))
  }

  /**
   * Saves an issue under its number.
   * @param id of the copy to change; absent: a new one
   * @throws AllotError invalid for a text; conflict when an issue of this number was created here; not_found
   * when the repository was deleted
   */
  async saveIssue(issue: MigratedIssue, origin: Origin, id?: number): Promise<true> {
    checkIssue(issue)
    return this.#save('issue', origin, id, async (tx, copyId) => {
      const { repository, number } = issue
      const other = await issues.findBy(tx, 'number', [repository, number])
      if (other !== undefined && other.id !== copyId)
        throw new AllotError('conflict', `an issue with the number ${number} was created here`)
      await reserve(tx, repository, number)
      await issues.save(tx, { ...(await issues.get(tx, [copyId])), ...issue, id: copyId })
      await subscribe(tx, copyId, issue.author)
    })
  }

  /**
   * Keeps numbers of the source, such as those of pull requests, from issues that are created here.
   * @throws AllotError not_found when the repository was deleted
   */
  reserveNumbers(repository: number, last: number): Promise<void> {
    return this.#services.store.write((tx) => reserve(tx, repository, last))
  }

  /**
   * Saves a comment, as `saveIssue`.
   * @throws AllotError invalid; not_found when the issue was deleted
   */
  async saveComment(comment: MigratedComment, origin: Origin, id?: number): Promise<true> {
    checkTexts('comment', comment)
    return this.#save('comment', origin, id, async (tx, copyId) => {
      const issue = existing(await issues.get(tx, [comment.issue]), 'the issue was deleted')
      const before = await comments.get(tx, [copyId])
      await comments.save(tx, { ...before, ...comment, id: copyId, repository: issue.repository })
      await subscribe(tx, issue.id, comment.author)
    })
  }

  /**
   * Saves a release.
   * @throws AllotError invalid; conflict when a release of this tag was created here; not_found when the
   * repository was deleted
   */
  async saveRelease(release: MigratedRelease, origin: Origin, id?: number): Promise<true> {
    const { repository, tag } = release
    if (!isRefName(tag)) throw invalidMember('tag', `${JSON.stringify(tag)} is not a valid tag name`)
    checkTexts('release', release)
    return this.#save('release', origin, id, async (tx, copyId) => {
      const other = await releases.findBy(tx, 'tag', [repository, tag])
      if (other !== undefined && other.id !== copyId)
        throw new AllotError('conflict', `a release of the tag ${tag} was created here`)
      await requireRepository(tx, repository)
      await releases.save(tx, { ...(await releases.get(tx, [copyId])), ...release, id: copyId })
    })
  }

  /**
   * Adds a file to an issue, a comment or a release.
   * @throws AllotError invalid for a bad name, another size or a full target; not_found when the target was
   * deleted
   */
  async addAttachment(attachment: MigratedAttachment, content: Readable, origin: Origin): Promise<true> {
    const { store, files } = this.#services
    checkFileName(attachment.name)
    const target = existing(await store.read((tx) => anyTarget(tx, attachment)), GONE)
    const uuid = randomUUID()
    const place = filePlaceOf({ uuid, repository: target.repository.id })
    return files.add(place, content, { size: attachment.size }, null, async (tx) => {
      const current = existing(await anyTarget(tx, attachment), GONE)
      await refuseFull(tx, this.#services, current)
      const { id } = await saveAttachment(tx, this.#services, current, {
        id: await takeNumber(tx, 'attachment'),
        uuid,
        repository: current.repository.id,
        ...attachment,
      })
      await this.#record(tx, 'attachment', origin, id)
      return true as const
    })
  }

  /** Whether an issue, a comment or a release has as many attachments as it can have. */
  isFull(on: Attachment['on'], id: number): Promise<boolean> {
    return this.#services.store.read((tx) => isFull(tx, this.#services, { on, id }))
  }

  /**
   * Changes the name of an attachment.
   * @throws AllotError invalid; not_found when it was deleted
   */
  async renameAttachment(id: number, name: string, origin: Origin): Promise<void> {
    checkFileName(name)
    await this.#services.store.write(async (tx) => {
      const attachment = await attachments.get(tx, [id])
      const target = attachment && (await anyTarget(tx, attachment))
      if (attachment === undefined || target === undefined)
        throw new AllotError('not_found', 'the attachment was deleted')
      await saveAttachment(tx, this.#services, target, { ...attachment, name })
      await this.#record(tx, 'attachment', origin, id)
    })
  }

  /** The record of a copy; undefined when it was deleted here. */
  async find(kind: ContentKind, id: number): Promise<object | undefined> {
    return this.#services.store.read<object | undefined>((tx) => COLLECTIONS[kind].get(tx, [id]))
  }

  /** The comments and attachments that `remove` takes along with a record. */
  partsOf(kind: ContentKind, id: number): Promise<ContentPart[]> {
    return this.#services.store.read(async (tx) => {
      if (kind === 'attachment') return []
      const found = kind === 'issue' ? await comments.list(tx, 'issue', { prefix: [id] }) : []
      const parts: ContentPart[] = found.map((record) => ({ kind: 'comment', record }))
      for (const target of [[kind, id] as const, ...found.map((comment) => ['comment', comment.id] as const)])
        for (const record of await attachments.list(tx, 'target', { prefix: [...target] }))
          parts.push({ kind: 'attachment', record })
      return parts
    })
  }

  /** Removes a copy with its files and comments. */
  async remove(kind: ContentKind, id: number): Promise<void> {
    const { jobs, disk } = this.#services
    await disk.write(async (tx) => {
      if (kind !== 'attachment') await removeContent(tx, this.#services, { on: kind, id })
      const attachment = kind === 'attachment' ? await attachments.get(tx, [id]) : undefined
      if (attachment !== undefined) await removeAttachment(tx, this.#services, attachment)
    })
    if (kind === 'issue') await jobs.finish(disk, 'removeComments', id)
  }

  async #save(
    kind: Exclude<ContentKind, 'attachment'>,
    origin: Origin,
    id: number | undefined,
    save: (tx: WriteContext, copyId: number) => Promise<void>,
  ): Promise<true> {
    return this.#services.store.write(async (tx) => {
      const copyId = id ?? (await takeNumber(tx, kind))
      await save(tx, copyId)
      await this.#record(tx, kind, origin, copyId)
      return true as const
    })
  }

  async #record(tx: WriteContext, kind: MigrationRecord['kind'], origin: Origin, id: number): Promise<void> {
    await this.#migrationLog.saveIn(tx, { kind, ...origin, copy: { id } })
  }
}

const COLLECTIONS = { issue: issues, comment: comments, release: releases, attachment: attachments } as const

/** Makes `last` the last number that is taken, at least. */
const reserve = async (tx: WriteContext, repository: number, last: number): Promise<void> => {
  await requireRepository(tx, repository)
  const before = (await issueSequences.get(tx, [repository]))?.last ?? 0
  if (last > before) await issueSequences.save(tx, { repository, last })
}

const requireRepository = async (tx: WriteContext, id: number): Promise<void> =>
  void existing(await repositoryById(tx, id), 'the repository was deleted')

/** Subscribes an author who has an account here. */
const subscribe = async (tx: WriteContext, issue: number, author: number): Promise<void> => {
  if ((await accounts.get(tx, [author])) !== undefined) await subscribeAuthor(tx, issue, author)
}
