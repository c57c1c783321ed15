/** Deletes selected items, after a page that asks: what goes, what that frees, and what stays elsewhere. */
import type { Identity } from '../../accounts/access.ts'
import { authorizeOwner } from '../../accounts/authorize.ts'
import { isRemovable, itemScope, type StorageItem } from '../../content/usage/storage-item.ts'
import { AllotError, invalid } from '../../errors.ts'
import type { Account } from '../../records/schema/index.ts'
import { requireScopes } from '../../scopes.ts'
import { FlashMessage, formatCount, Notice, PageHead, Post, Section } from '../parts/components.tsx'
import {
  type Confirmation,
  ConfirmButtons,
  checkConfirmation,
  TypedConfirmation,
} from '../parts/confirmation.tsx'
import type { View } from '../parts/route.ts'
import { ownerCrumbs, type StorageRequest, storagePages } from './access.tsx'
import { KIND_NAMES, titleOf } from './item-text.tsx'
import { freedText, RemovedTable, removedItems, StayingNote } from './removed.tsx'

/** Items that one form deletes at most. */
export const MAX_SELECTED = 50
/** The same when all of them are attachments. */
export const MAX_ATTACHED = 500

export const removalPageRoutes = [
  storagePages.form({ path: '/-/storage/{owner}/remove' }, async (request) => {
    const { owner, form } = request
    const ids = form.all('item')
    const uploader = form.text('uploader')
    const isSelected = ids.length > 0 || uploader === ''
    let items = await (isSelected ? selectedItems(request, ids) : attachedItems(request, uploader))
    const page = () => confirmationView(request, items)
    const done = (what: string) => `/-/storage/${owner.name}/usage?done=${what}`
    return {
      asks: () => (items.length > 0 ? page() : undefined),
      async run() {
        if (items.length === 0) return done(ids.length === 0 && uploader === '' ? 'nothing' : 'gone')
        const confirmation = confirmationOf(items)
        if (confirmation !== undefined) checkConfirmation(form, confirmation)
        const kept = await removeItems(request, items)
        if (kept.length === 0) return done('deleted')
        const error = keptError(items, kept)
        items = kept.map(({ item }) => item)
        throw error
      },
      page,
    }
  }),
]

/** @throws AllotError invalid when too many are selected; forbidden when the session lacks a scope */
const selectedItems = async (
  { owner, user, services: { hosting } }: StorageRequest,
  ids: readonly string[],
): Promise<StorageItem[]> => {
  const max = ids.every((id) => id.startsWith('attachments:')) ? MAX_ATTACHED : MAX_SELECTED
  if (ids.length > max) throw invalid(`select at most ${max} items at once, got ${ids.length}`)
  const items = await hosting.storageItems.byIds(user, owner.id, [...new Set(ids)])
  return withoutContained(removableItems(user, items))
}

/** @throws AllotError forbidden when the session lacks a scope */
const removableItems = (user: Identity, items: readonly StorageItem[]): StorageItem[] => {
  for (const item of items) if (item.isStoredHere) requireScopes(user, { scope: itemScope(item, 'write') })
  return items.filter((item) => isRemovable(user, item))
}

/**
 * The largest attachments of a user.
 * @throws AllotError forbidden when the session lacks a scope
 */
const attachedItems = async (
  { owner, user, services: { hosting } }: StorageRequest,
  uploader: string,
): Promise<StorageItem[]> => {
  const slice = { offset: 0, limit: MAX_ATTACHED }
  return removableItems(user, (await hosting.storageItems.list(user, owner.id, { uploader }, slice)).items)
}

/** Leaves out items in a selected repository, which are deleted with it and must not count twice. */
const withoutContained = (items: readonly StorageItem[]): StorageItem[] => {
  const whole = new Set(
    items.filter(({ kind }) => kind === 'repositories').map(({ repositoryId }) => repositoryId),
  )
  return items.filter(({ kind, repositoryId }) => kind === 'repositories' || !whole.has(repositoryId))
}

/** An item that was not deleted. */
interface Kept {
  readonly item: StorageItem
  readonly error: unknown
}

/** Deletes each item, also after one that cannot be deleted. */
const removeItems = async (request: StorageRequest, items: readonly StorageItem[]): Promise<Kept[]> => {
  const kept: Kept[] = []
  for (const item of items)
    try {
      await removeItem(request, item)
    } catch (error) {
      kept.push({ item, error })
    }
  return kept
}

/**
 * Says of each item that is left why, as the others are gone. An unexpected error is its cause, for the log.
 */
const keptError = (items: readonly StorageItem[], kept: readonly Kept[]): AllotError => {
  const errors = kept.flatMap(({ error }) => (error instanceof AllotError ? [error] : []))
  const codes = new Set(errors.map(({ code }) => code))
  const unexpected = kept.find(({ error }) => !(error instanceof AllotError))
  const isOne = codes.size === 1 && !codes.has('not_found')
  const code = unexpected !== undefined ? 'unavailable' : isOne ? errors[0]!.code : 'conflict'
  const pauses = errors.flatMap(({ retryAfter }) => retryAfter ?? [])
  const reasons = kept.map(
    ({ item, error }) =>
      `${titleOf(item)}: ${error instanceof AllotError ? error.message : 'an internal error occurred'}`,
  )
  const counts = `${items.length - kept.length} of ${formatCount(items.length, 'item')}`
  return new AllotError(code, `deleted ${counts}, and not ${reasons.join('; ')}`, {
    cause: unexpected?.error,
    // An `unavailable` error that has a pause counts as a refusal for load, whose cause is not logged.
    ...(unexpected === undefined && pauses.length > 0 && { retryAfter: Math.max(...pauses) }),
    isOutcomeUnknown: errors.some(({ isOutcomeUnknown }) => isOutcomeUnknown),
  })
}

/** Something that another request has deleted meanwhile counts as deleted. */
const removeItem = async (
  { owner, user, services: { hosting } }: StorageRequest,
  item: StorageItem,
): Promise<void> => {
  const { kind, used, inRepository } = item
  const path = { owner: owner.name, name: inRepository?.name ?? '' }
  if (kind === 'repositories')
    await hosting.repositories.remove(authorizeOwner(user, path.owner, path.name), user.id)
  else if (used === undefined) return
  else if (kind === 'lfs' && inRepository !== undefined)
    await hosting.lfs.remove(user, inRepository.id, used.entry.name)
  else if (kind === 'packages') await hosting.packages.remove(user, packageOf(owner, item))
  else if (used.attached !== undefined) {
    const { on, targetId, id } = used.attached
    await hosting.attachments.remove(user, path, attachedTo(on, targetId), id)
  }
}

const attachedTo = (on: 'issue' | 'comment' | 'release', id: number) =>
  on === 'issue' ? { issue: id } : on === 'comment' ? { comment: id } : { release: id }

export const packageOf = ({ name: owner }: Account, { name, used }: StorageItem) => ({
  owner,
  name,
  type: used?.entry.type ?? '',
  version: used?.entry.version ?? '',
})

/** Whole repositories are deleted only after their name, or their number, was typed. */
const confirmationOf = (items: readonly StorageItem[]): Confirmation | undefined => {
  const repositories = items.filter(({ kind }) => kind === 'repositories')
  const [first] = repositories
  if (first === undefined) return undefined
  return repositories.length === 1
    ? { expected: first.name, what: 'the name of the repository' }
    : { expected: String(repositories.length), what: 'the number of repositories' }
}

const confirmationView = async (
  { owner, user, services }: StorageRequest,
  items: readonly StorageItem[],
): Promise<View> => {
  const confirmation = confirmationOf(items)
  const removed = await removedItems(
    services,
    items.map((item) => ({ ...item, owner: owner.name })),
  )
  const kinds = removed.flatMap((one) => one.kinds)
  const freed = freedText(kinds)
  const title = titleFor(items)
  const cancel = `/-/storage/${owner.name}/usage`
  const button = `Delete and free ${freed}`
  const fields = items.map(({ id }) => ['item', id] as const)
  return {
    title,
    crumbs: [...ownerCrumbs(owner, user), { name: `Usage of ${owner.name}`, to: cancel }],
    body: (
      <>
        <PageHead title={title} subtitle={`This frees ${freed} and cannot be undone.`} />
        <FlashMessage />
        <WhatGoes items={items} />
        <Section id="selected" title="Selected">
          <RemovedTable head="Name" items={removed} />
          <StayingNote kinds={kinds} />
          <Post to={`/-/storage/${owner.name}/remove`} fields={[['confirmed', 'yes'], ...fields]}>
            {confirmation === undefined ? (
              <ConfirmButtons cancel={cancel}>{button}</ConfirmButtons>
            ) : (
              <TypedConfirmation {...confirmation} cancel={cancel} button={button} />
            )}
          </Post>
        </Section>
      </>
    ),
  }
}

const titleFor = (items: readonly StorageItem[]): string => {
  const [first] = items
  if (items.length === 1) return `Delete the ${KIND_NAMES[first!.kind][0]} ${titleOf(first!)}?`
  const isRepositories = items.every(({ kind }) => kind === 'repositories')
  return `Delete ${isRepositories ? `${items.length} repositories` : formatCount(items.length, 'item')}?`
}

const WhatGoes = ({ items }: { items: readonly StorageItem[] }) => {
  const kinds = new Set(items.map(({ kind }) => kind))
  return (
    <>
      {kinds.has('repositories') && (
        <Notice kind="over">
          A repository is deleted with its commits, issues, comments and releases. Below each repository, you
          see what else is deleted and what stays.
        </Notice>
      )}
      {kinds.has('lfs') && (
        <Notice kind="near">
          Commits that use a deleted LFS object can no longer be checked out with its content.
        </Notice>
      )}
    </>
  )
}
