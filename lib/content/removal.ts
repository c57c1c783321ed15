import { repositoryById } from '../accounts/access.ts'
import { ownsRepositories, type Removal, type RemovalOptions } from '../accounts/accounts.ts'
import type { Authorizer, Target } from '../accounts/authorize.ts'
import { invalid } from '../errors.ts'
import { type Actor, recordAudit } from '../quota/audit.ts'
import type { JobHandler } from '../records/jobs.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { paced } from '../records/pacing.ts'
import {
  type Account,
  type Attachment,
  accounts,
  collaborators,
  comments,
  emailAddresses,
  follows,
  gpgKeys,
  issueSequences,
  issues,
  type Job,
  type Membership,
  memberships,
  packageFiles,
  packageVersions,
  releases,
  repositories,
  sessions,
  sshKeys,
  stars,
  teamMembers,
  teamRepositories,
  teams,
  tokens,
  transfers,
  watches,
} from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { detachForks } from '../repositories/forks.ts'
import { removeRedirectsOf } from '../repositories/redirects.ts'
import { unrelate } from '../repositories/relations.ts'
import { type RepositoryParts, removeRepository } from '../repositories/repositories.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { removeAttachments } from './attachments.ts'
import { removePackageFile } from './packages.ts'

/** Deletes users and organizations with everything that belongs to them alone. */
export class AccountRemoval implements Removal {
  readonly #parts: RepositoryParts

  constructor(parts: RepositoryParts) {
    this.#parts = parts
  }

  /** See `Accounts.remove`. */
  async remove(which: Target<Account>, { purge = false, by }: RemovalOptions = {}): Promise<boolean> {
    let outcome = await this.#tryRemove(which, purge, by)
    while (typeof outcome !== 'boolean') {
      for (const membership of outcome) await this.#tryRemove(stillSolelyOwned(membership), true, by)
      outcome = await this.#tryRemove(which, purge, by)
    }
    await this.#parts.gitData.idle()
    await this.#parts.files.idle()
    return outcome
  }

  /** @returns memberships in the organizations to delete first, or whether the account existed */
  #tryRemove(
    which: Target<Account>,
    purge: boolean,
    by: Actor | undefined,
  ): Promise<readonly Membership[] | boolean> {
    return this.#parts.store.write(async (tx) => {
      const account = await (typeof which === 'number' ? accounts.get(tx, [which]) : which(tx))
      if (account === undefined) return false
      const owned = purge ? await solelyOwned(tx, account.id) : []
      if (owned.length > 0) return owned
      if (!purge) await refuseOwner(tx, account)
      await this.#removeAccount(tx, account.id)
      const before = { kind: account.kind, purge }
      await recordAudit(tx, by, { action: 'account deleted', subject: account.name, before })
      return true
    })
  }

  async #removeAccount(tx: WriteContext, id: number): Promise<void> {
    await removeListed(memberships, 'member')(tx, id)
    await removeListed(teamMembers, 'account')(tx, id)
    await removeListed(collaborators, 'account')(tx, id)
    await removeListed(transfers, 'doer')(tx, id)
    await removeListed(tokens, 'account')(tx, id)
    await removeListed(sessions, 'account')(tx, id)
    await removeListed(emailAddresses, 'account')(tx, id)
    await removeListed(sshKeys, 'account')(tx, id)
    await removeListed(gpgKeys, 'account')(tx, id)
    await this.#parts.quota.groups.unassignAll(tx, id)
    await accounts.remove(tx, [id])
    await this.#parts.jobs.runNow(tx, 'removeAccountData', id)
  }
}

/** @throws AllotError invalid when the account still owns repositories, packages or an organization that it founded */
const refuseOwner = async (tx: ReadTransaction, { id, kind }: Account): Promise<void> => {
  const what = kind === 'user' ? 'this account' : 'this organization'
  if (await ownsRepositories(tx, id))
    throw invalid(
      `${what} still owns repositories: delete or transfer them first, or set purge=true to delete them too`,
    )
  if ((await packageVersions.count(tx, 'owner', [id])) > 0)
    throw invalid(`${what} still owns packages: delete them first, or set purge=true to delete them too`)
  if ((await solelyOwned(tx, id)).some(({ founder }) => founder === true))
    throw invalid(
      'this account is the only owner of an organization that it founded: name another owner, delete the organization, or set purge=true to delete it too',
    )
}

/** Memberships of an account in the organizations that have no other owner. */
const solelyOwned = async (tx: ReadTransaction, account: number): Promise<Membership[]> => {
  const found: Membership[] = []
  for (const membership of await memberships.list(tx, 'member', { prefix: [account] }))
    if (await isSoleOwner(tx, membership)) found.push(membership)
  return found
}

const isSoleOwner = async (tx: ReadTransaction, { organization, owner }: Membership): Promise<boolean> =>
  owner &&
  (await memberships.count(tx, 'owners', [organization])) === 1 &&
  // Memberships of deleted organizations are removed in steps, by a job.
  (await accounts.get(tx, [organization])) !== undefined

/** The organization, unless it has gained another owner since. */
const stillSolelyOwned =
  ({ organization, member }: Membership): Authorizer<Account> =>
  async (tx) => {
    const current = await memberships.get(tx, [organization, member])
    if (current === undefined || !(await isSoleOwner(tx, current))) return undefined
    return accounts.get(tx, [organization])
  }

/** Removes records that belong to a deleted record, `limit` at most. @returns how many were removed */
type Remover = (tx: WriteContext, id: number, limit: number, parts: RepositoryParts) => Promise<number>

/**
 * Registers the jobs that remove what belonged to a deleted account, repository, issue or package version. Readers cannot
 * reach it any more: a comment is found through its issue, and an issue, a release or a package through its owner.
 */
export const registerRemovalJobs = (parts: RepositoryParts): void => {
  const handle = (kind: Job['kind'], exists: Exists, removers: readonly Remover[]) =>
    parts.jobs.handle(kind, removalJob(parts, exists, removers))
  handle('removeAccountData', (tx, id) => accounts.get(tx, [id]), [
    removeRepositories,
    removePackages,
    removeRelations(stars),
    removeRelations(watches),
    removeListed(follows, 'followers'),
    removeListed(follows, 'following'),
    removeListed(teamMembers, 'organization'),
    removeListed(teamRepositories, 'organization'),
    removeListed(teams, 'organization'),
    removeListed(transfers, 'recipient'),
    removeListed(memberships, 'organization'),
    removeRedirectsOf,
    (tx, id, limit, { quota }) => quota.removeOwnerEntries(tx, id, limit),
  ])
  handle('removeRepositoryContents', repositoryById, [
    removeIssues,
    removeReleases,
    removeIssueSequence,
    removeListed(collaborators, 'repository'),
    detachForks,
  ])
  handle('removeComments', (tx, id) => issues.get(tx, [id]), [removeComments])
  handle('removePackageFiles', (tx, id) => packageVersions.get(tx, [id]), [removePackageFiles])
}

type Exists = (tx: ReadTransaction, id: number) => Promise<unknown>

/** @param removers each is called once those before it have nothing left */
const removalJob = (parts: RepositoryParts, exists: Exists, removers: readonly Remover[]): JobHandler => ({
  /** Waits until the folders and files that the previous step released are deleted. */
  async prepare() {
    await parts.gitData.idle()
    await parts.files.idle()
  },
  async step(tx, id, limit) {
    if ((await exists(tx, id)) !== undefined) return 0
    let removed = 0
    for (const remove of removers) {
      removed += await remove(tx, id, limit - removed, parts)
      if (removed >= limit) break
    }
    return removed
  },
})

/** What removing the records of an index needs. */
interface ListedCollection<R, O extends string> {
  readonly options: { readonly id: (record: R) => KeyTuple }
  list(tx: ReadTransaction, index: O, listing: { prefix: KeyTuple; limit?: number }): Promise<R[]>
  remove(tx: WriteContext, id: KeyTuple): Promise<unknown>
}

/** Removes the records that an index has at an id; without a limit, all of them. */
const removeListed =
  <R, O extends string>(collection: ListedCollection<R, O>, index: O) =>
  async (tx: WriteContext, id: number, limit?: number): Promise<number> => {
    const listing = { prefix: [id], ...(limit === undefined ? {} : { limit }) }
    const found = await collection.list(tx, index, listing)
    for await (const record of paced(found)) await collection.remove(tx, collection.options.id(record))
    return found.length
  }

/** Removes records one after another. @param remove removes one, and returns how many records that were */
const removeEach = async <R>(
  records: readonly R[],
  limit: number,
  remove: (record: R, limit: number) => Promise<number>,
): Promise<number> => {
  let removed = 0
  for await (const record of paced(records)) {
    removed += await remove(record, limit - removed)
    if (removed >= limit) break
  }
  return removed
}

const removeRepositories: Remover = async (tx, owner, limit, parts) =>
  removeEach(await repositories.list(tx, 'id', { prefix: [owner], limit }), limit, ({ id }, left) =>
    removeRepository(tx, parts, id, left),
  )

const removePackages: Remover = async (tx, owner, limit, { jobs }) =>
  removeEach(
    await packageVersions.list(tx, 'created', { prefix: [owner], limit }),
    limit,
    async ({ id }, left) => {
      await packageVersions.remove(tx, [id])
      return 1 + (await jobs.runNow(tx, 'removePackageFiles', id, left - 1))
    },
  )

const removePackageFiles: Remover = async (tx, version, limit, parts) => {
  const found = await packageFiles.list(tx, 'version', { prefix: [version], limit })
  for await (const file of paced(found)) await removePackageFile(tx, parts, file)
  return found.length
}

const removeRelations =
  (relation: typeof stars): Remover =>
  async (tx, account, limit) => {
    const found = await relation.list(tx, 'account', { prefix: [account], limit })
    for await (const { repository: id } of paced(found)) {
      const repository = await repositories.get(tx, [id])
      if (repository !== undefined) await unrelate(tx, relation, account, repository)
      else await relation.remove(tx, [account, id])
    }
    return found.length
  }

const removeIssues: Remover = async (tx, repository, limit, parts) =>
  removeEach(await issues.list(tx, 'state', { prefix: [repository], limit }), limit, async ({ id }, left) => {
    const removed = await removeComments(tx, id, left, parts)
    return removed + (await removeTarget(tx, parts, { on: 'issue', id }, left - removed))
  })

const removeReleases: Remover = async (tx, repository, limit, parts) =>
  removeEach(await releases.list(tx, 'time', { prefix: [repository], limit }), limit, ({ id }, left) =>
    removeTarget(tx, parts, { on: 'release', id }, left),
  )

const removeComments: Remover = async (tx, issue, limit, parts) =>
  removeEach(await comments.list(tx, 'issue', { prefix: [issue], limit }), limit, ({ id }, left) =>
    removeTarget(tx, parts, { on: 'comment', id }, left),
  )

const removeIssueSequence: Remover = async (tx, repository) => {
  await issueSequences.remove(tx, [repository])
  return 0
}

/** What attachments are on, and the cost of removing it, in records: the words of an issue's title have index entries. */
const TARGETS = {
  issue: { collection: issues, cost: 2 },
  comment: { collection: comments, cost: 1 },
  release: { collection: releases, cost: 1 },
}

/** Removes the attachments of an issue, comment or release, and then itself if the limit permits. */
const removeTarget = async (
  tx: WriteContext,
  parts: RepositoryParts,
  { on, id }: { on: Attachment['on']; id: number },
  limit: number,
): Promise<number> => {
  const removed = await removeAttachments(tx, parts, { on, id }, limit)
  if (removed >= limit) return removed
  const { collection, cost } = TARGETS[on]
  await collection.remove(tx, [id])
  return removed + cost
}
