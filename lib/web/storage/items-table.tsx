/** The table of items that use storage, with its sortable columns and the boxes that select rows. */
import type { Identity } from '../../accounts/access.ts'
import {
  isRemovable,
  type StorageItem,
  type StorageItemKind,
  type StorageItemQuery,
  storageItemKinds,
} from '../../content/usage/storage-item.ts'
import { Post, Submit } from '../parts/components.tsx'
import { type Sorting, Table } from '../parts/list.tsx'
import { pageNumber, withQuery } from '../parts/paging.tsx'
import { itemColumns, labelOf } from './item-text.tsx'
import { MAX_ATTACHED } from './removal.tsx'

export const isStorageItemKind = (text: string | null): text is StorageItemKind =>
  storageItemKinds.some((kind) => kind === text)

/** What the query parameters of the page say. */
export interface ItemListQuery extends StorageItemQuery {
  readonly page: number
}

export const readQuery = (query: URLSearchParams, kind: string | null = query.get('kind')): ItemListQuery => {
  const sort = query.get('sort')
  return {
    kind: isStorageItemKind(kind) ? kind : undefined,
    repository: query.get('repository')?.trim() ?? '',
    uploader: query.get('uploader')?.trim() ?? '',
    search: query.get('q')?.trim().slice(0, 255) ?? '',
    sort: sort === 'name' || sort === 'created' ? sort : 'size',
    reverse: query.get('order') === 'reverse',
    page: pageNumber(query),
  }
}

/** Path of the page with another query. */
export const pathOf = (owner: string, asked: ItemListQuery, file = 'usage'): string =>
  withQuery(`/-/storage/${owner}/${file}`, {
    kind: asked.kind,
    repository: asked.repository,
    uploader: asked.uploader,
    q: asked.search,
    sort: asked.sort !== 'size' && asked.sort,
    order: asked.reverse && 'reverse',
    page: asked.page > 1 && asked.page,
  })

interface ItemsProps {
  owner: string
  asked: ItemListQuery
  items: readonly StorageItem[]
  links: ReadonlyMap<string, string | undefined>
  /** Bytes of all items of the owner. */
  used: number
  user: Identity
  isChecked: boolean
}

export const Items = ({ owner, asked, items, links, used, user, isChecked }: ItemsProps) => {
  const removable = items.filter((item) => isRemovable(user, item))
  const canSelect = removable.length > 0
  return (
    <>
      {canSelect && asked.uploader && <DeleteAll owner={owner} uploader={asked.uploader} />}
      <Post to={`/-/storage/${owner}/remove`}>
        <Table
          class="items"
          items={items}
          keyOf={({ id }) => id}
          sorting={sortingOf(owner, asked)}
          columns={[
            canSelect && {
              head: <span class="hidden">Select</span>,
              class: 'check',
              cell: (item) => removable.includes(item) && <ItemBox item={item} isChecked={isChecked} />,
            },
            ...itemColumns({
              owner,
              links,
              used,
              // A list of one kind needs no column of it.
              hasKind: asked.kind === undefined,
              hasDay: asked.sort === 'created',
            }),
          ]}
        />
        {canSelect && (
          <div class="buttons">
            <Submit kind="danger">Delete selected…</Submit>
            <span class="small" data-selected="">
              The next page shows what is deleted and how much it frees.
            </span>
          </div>
        )}
      </Post>
    </>
  )
}

const ItemBox = ({ item, isChecked }: { item: StorageItem; isChecked: boolean }) => (
  <input
    type="checkbox"
    name="item"
    value={item.id}
    checked={isChecked}
    aria-label={`Select ${labelOf(item)}`}
    data-bytes={String(item.size)}
  />
)

/** Deletes the largest attachments of a user, also those on other pages of the list. */
const DeleteAll = ({ owner, uploader }: { owner: string; uploader: string }) => (
  <Post to={`/-/storage/${owner}/remove`} fields={{ uploader }}>
    <Submit kind="danger">
      Delete up to {MAX_ATTACHED} attachments of {uploader}…
    </Submit>
  </Post>
)

const sortingOf = (owner: string, asked: ItemListQuery): Sorting<NonNullable<StorageItemQuery['sort']>> => ({
  sort: asked.sort,
  isReverse: asked.reverse === true,
  pathOf: (sort, reverse) => pathOf(owner, { ...asked, sort, reverse, page: 1 }),
})
