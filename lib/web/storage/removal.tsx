/** Deletes selected items after a confirmation, and downloads what this server keeps. */
import type { Identity } from '../../accounts/access.ts'
import { authorizeOwner } from '../../accounts/authorize.ts'
import { isRemovable, itemScope, type StorageItem } from '../../content/usage/storage-item.ts'
import { AllotError, invalid } from '../../errors.ts'
import type { Account } from '../../records/schema/index.ts'
import { requireScopes } from '../../scopes.ts'
import { formatCount, Link, PageHead, Section, Size } from '../parts/components.tsx'
import { checkConfirmation } from '../parts/confirmation.tsx'
import { Table } from '../parts/list.tsx'
import { form, type PageReply, type PageServices, page } from '../parts/route.ts'
import { downloadOf } from '../people/packages.tsx'
import { accessibleOwner, ownerCrumbs } from './access.tsx'
import { titleOf } from './item-text.tsx'
import { confirmationOf, confirmationView } from './removal-view.tsx'

/** Items that one form deletes at most. */
export const MAX_SELECTED = 50
/** Attachments of a user that one form deletes at most. */
const MAX_ATTACHED = 500

export const removalPageRoutes = [
  form({ path: '/-/storage/{owner}/remove', auth: 'required' }, async ({ user, params, form }, services) => {
    const owner = await accessibleOwner(services, user, params.owner)
    const ids = form.all('item')
    const uploader = form.text('uploader')
    let items =
      uploader === ''
        ? await selectedItems(services, user, owner, ids)
        : await attachedItems(services, user, owner, uploader)
    const page = () => confirmationView(services, { owner, user, uploader, items })
    const done = (what: string) => `/-/storage/${owner.name}/usage?done=${what}`
    return {
      asks: () => (items.length > 0 ? page() : undefined),
      async run() {
        if (items.length === 0) return done(ids.length === 0 && uploader === '' ? 'nothing' : 'gone')
        const confirmation = confirmationOf(items)
        if (confirmation !== undefined) checkConfirmation(form, confirmation)
        const kept = await removeItems(services, user, owner, items)
        if (kept.length === 0) return done('deleted')
        const error = keptError(items, kept)
        items = kept.map(({ item }) => item)
        throw error
      },
      page,
    }
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}/download',
    auth: 'required',
    async handle({ user, params, query }, services) {
      const owner = await accessibleOwner(services, user, params.owner)
      const [item] = await services.hosting.storageItems.byIds(user, owner.id, [query.get('item') ?? ''])
      if (item === undefined) throw new AllotError('not_found', 'there is no such file')
      requireScopes(user, { scope: itemScope(item, 'read') })
      return download(services, user, owner, item, query.get('file'))
    },
  }),
]

/** @throws AllotError invalid when too many are selected; forbidden when the session lacks a scope */
const selectedItems = async (
  { hosting }: PageServices,
  user: Identity,
  owner: Account,
  ids: readonly string[],
): Promise<StorageItem[]> => {
  if (ids.length > MAX_SELECTED)
    throw invalid(`select at most ${MAX_SELECTED} items at once, got ${ids.length}`)
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
  { hosting }: PageServices,
  user: Identity,
  owner: Account,
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
const removeItems = async (
  services: PageServices,
  user: Identity,
  owner: Account,
  items: readonly StorageItem[],
): Promise<Kept[]> => {
  const kept: Kept[] = []
  for (const item of items)
    try {
      await removeItem(services, user, owner, item)
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
  })
}

/** Something that another request has deleted meanwhile counts as deleted. */
const removeItem = async (
  { hosting }: PageServices,
  user: Identity,
  owner: Account,
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

const packageOf = ({ name: owner }: Account, { name, used }: StorageItem) => ({
  owner,
  name,
  type: used?.entry.type ?? '',
  version: used?.entry.version ?? '',
})

const download = async (
  services: PageServices,
  user: Identity,
  owner: Account,
  item: StorageItem,
  file: string | null,
): Promise<PageReply> => {
  const { hosting } = services
  const { kind, used, inRepository, name } = item
  const type = 'application/octet-stream'
  if (kind === 'lfs' && inRepository !== undefined) {
    const [stored] = await hosting.lfs.find(inRepository.id, [used?.entry.name ?? ''])
    if (stored !== undefined)
      return { fileName: name, type, size: stored.size, content: () => hosting.files.read(stored) }
  }
  if (kind === 'attachments' && used?.attached !== undefined) {
    const found = await hosting.attachments.open(user, used.attached.uuid)
    if (found !== undefined)
      return { fileName: name, type, size: found.attachment.size, content: () => found.read() }
  }
  if (kind === 'packages') return downloadPackage(services, user, owner, item, file)
  throw new AllotError('not_found', `${titleOf(item)} is not stored on this server`)
}

/** A version with one file is that file; one with several lists them. */
const downloadPackage = async (
  services: PageServices,
  user: Identity,
  owner: Account,
  item: StorageItem,
  file: string | null,
): Promise<PageReply> => {
  const files = (await services.hosting.packages.files(user, packageOf(owner, item))) ?? []
  const found = files.length === 1 ? files[0] : files.find(({ name }) => name === file)
  if (found !== undefined) return downloadOf(services, found)
  if (files.length === 0) throw new AllotError('not_found', `${item.name} is not stored on this server`)
  const to = (name: string) =>
    `/-/storage/${owner.name}/download?item=${encodeURIComponent(item.id)}&file=${encodeURIComponent(name)}`
  return {
    title: `Files of ${item.name}`,
    crumbs: [
      ...ownerCrumbs(owner, user),
      { name: `Usage of ${owner.name}`, to: `/-/storage/${owner.name}/usage` },
    ],
    body: (
      <>
        <PageHead title={<bdi>{item.name}</bdi>} subtitle={versionText(item)} />
        <Section id="files" title="Files">
          <Table
            items={files}
            keyOf={({ id }) => id}
            columns={[
              { head: 'File', cell: ({ name }) => <Link to={to(name)}>{name}</Link> },
              { head: 'Size', class: 'number', cell: ({ size }) => <Size bytes={size} /> },
            ]}
          />
        </Section>
      </>
    ),
  }
}

const versionText = ({ used }: StorageItem): string => `Version ${used?.entry.version ?? ''}`
