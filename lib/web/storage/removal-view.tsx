/** Asks before selected items are deleted: what goes, what that frees, and what stays in other systems. */
import type { Identity } from '../../accounts/access.ts'
import { freedBy, mayFreeMore, RemovalSizes, type RemovedKind } from '../../content/usage/removal-sizes.ts'
import type { StorageItem } from '../../content/usage/storage-item.ts'
import { type Account, type RepositoryUsage, repositoryUsages } from '../../records/schema/index.ts'
import { FlashMessage, formatCount, Notice, PageHead, Post, Section, SizeCell } from '../parts/components.tsx'
import { type Confirmation, ConfirmButtons, TypedConfirmation } from '../parts/confirmation.tsx'
import { Table } from '../parts/list.tsx'
import type { PageServices, View } from '../parts/route.ts'
import { unbrokenSize } from '../parts/sizes.ts'
import { ownerCrumbs } from './access.tsx'
import { KIND_NAMES, titleOf } from './item-text.tsx'
import { freedColumns, RemovalNotes, RemovedRepository } from './removed-kinds.tsx'

interface Asked {
  readonly owner: Account
  readonly user: Identity
  readonly items: readonly StorageItem[]
  /** The user whose attachments they are; empty when the items were selected. */
  readonly uploader: string
}

/** Whole repositories are deleted only after their name, or their number, was typed. */
export const confirmationOf = (items: readonly StorageItem[]): Confirmation | undefined => {
  const repositories = items.filter(({ kind }) => kind === 'repositories')
  const [first] = repositories
  if (first === undefined) return undefined
  return repositories.length === 1
    ? { expected: first.name, what: 'the name of the repository' }
    : { expected: String(repositories.length), what: 'the number of repositories' }
}

/** A selected item with what its deletion frees, by kind for a repository. */
interface Removed {
  readonly item: StorageItem
  readonly kinds: readonly RemovedKind[]
  readonly freed: number
}

const removedIn = ({ store }: PageServices, items: readonly StorageItem[]): Promise<Removed[]> =>
  store.read(async (tx) => {
    const ids = items.flatMap(({ kind, repositoryId }) =>
      kind === 'repositories' ? (repositoryId ?? []) : [],
    )
    const usages = await repositoryUsages.byIds(tx, ids)
    const sizes = new RemovalSizes(tx)
    return Promise.all(
      items.map(async (item) => {
        const usage = usageOf(item, usages)
        const kinds = usage === undefined ? [] : await sizes.ofRepository(usage)
        return { item, kinds, freed: usage === undefined ? item.size : freedBy(kinds) }
      }),
    )
  })

const usageOf = (
  { kind, repositoryId }: StorageItem,
  usages: ReadonlyMap<number, RepositoryUsage>,
): RepositoryUsage | undefined => (kind === 'repositories' ? usages.get(repositoryId ?? 0) : undefined)

export const confirmationView = async (services: PageServices, asked: Asked): Promise<View> => {
  const { owner, user, items, uploader } = asked
  const confirmation = confirmationOf(items)
  const removed = await removedIn(services, items)
  const bytes = removed.reduce((sum, one) => sum + one.freed, 0)
  const freed = `${removed.some(({ kinds }) => mayFreeMore(kinds)) ? 'at least ' : ''}${unbrokenSize(bytes)}`
  const title = titleFor(items)
  const usagePath = `/-/storage/${owner.name}/usage`
  const button = `Delete and free ${freed}`
  return {
    title,
    crumbs: [...ownerCrumbs(owner, user), { name: `Usage of ${owner.name}`, to: usagePath }],
    body: (
      <>
        <PageHead title={title} subtitle={`This frees ${freed} and cannot be undone.`} />
        <FlashMessage />
        <WhatGoes items={items} />
        <Section id="selected" title="Selected">
          <Table columns={freedColumns('Name')}>
            {removed.map((one) => (
              <RemovedItem key={one.item.id} owner={owner.name} {...one} />
            ))}
          </Table>
          <RemovalNotes kinds={removed.flatMap(({ kinds }) => kinds)} />
          <Post
            to={`/-/storage/${owner.name}/remove`}
            fields={[
              ['confirmed', 'yes'],
              ...(uploader === ''
                ? items.map(({ id }): [string, string] => ['item', id])
                : [['uploader', uploader] as [string, string]]),
            ]}
          >
            {confirmation === undefined ? (
              <ConfirmButtons cancel={usagePath}>{button}</ConfirmButtons>
            ) : (
              <TypedConfirmation {...confirmation} cancel={usagePath} button={button} />
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

const RemovedItem = ({ owner, item, kinds, freed }: Removed & { owner: string }) =>
  item.kind === 'repositories' ? (
    <RemovedRepository {...item} owner={owner} kinds={kinds} />
  ) : (
    <tr>
      <td>
        <bdi class="strong">{titleOf(item)}</bdi>
        <div class="small">{KIND_NAMES[item.kind][0]}</div>
      </td>
      <SizeCell bytes={freed} />
    </tr>
  )
