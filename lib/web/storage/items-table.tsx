/** The table of items that use storage, with its sortable columns and the boxes that select rows. */
import type { Identity } from '../../accounts/access.ts'
import { isRemovable, type StorageItem, type StorageItemQuery } from '../../content/usage/storage-item.ts'
import { Post } from '../parts/components.tsx'
import { SortHead, type Sorting } from '../parts/sort-head.tsx'
import { Day } from '../parts/times.tsx'
import { type ItemListQuery, pathOf } from './item-query.ts'
import { ItemCells, labelOf, SizeWithShare } from './item-text.tsx'
import { ShareCell } from './share.tsx'

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
  const sorting = sortingOf(owner, asked)
  return (
    <>
      {canSelect && asked.uploader && <DeleteAll owner={owner} uploader={asked.uploader} />}
      <Post to={`/-/storage/${owner}/remove`}>
        <table class="items">
          <thead>
            <tr>
              {canSelect && (
                <th scope="col" class="check">
                  <span class="hidden">Select</span>
                </th>
              )}
              <SortHead {...sorting} by="name" text="Name" />
              {asked.kind === undefined && (
                <th scope="col" class="wide">
                  Kind
                </th>
              )}
              <SortHead {...sorting} by="created" text="Added" class="wide" />
              <th scope="col" class="number share wide">
                Of total
              </th>
              <SortHead {...sorting} by="size" text="Size" class="number" />
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <ItemRow
                key={item.id}
                owner={owner}
                item={item}
                used={used}
                isChecked={isChecked}
                canSelect={canSelect}
                hasKind={asked.kind === undefined}
                hasDay={asked.sort === 'created'}
                link={links.get(item.id)}
                isRemovable={removable.includes(item)}
              />
            ))}
          </tbody>
        </table>
        {canSelect && (
          <div class="buttons">
            <button type="submit" class="danger">
              Delete selected…
            </button>
            <span class="small" data-selected="">
              The next page shows what is deleted and how much it frees.
            </span>
          </div>
        )}
      </Post>
    </>
  )
}

/** Deletes what one user attached, on all pages of the list. */
const DeleteAll = ({ owner, uploader }: { owner: string; uploader: string }) => (
  <Post to={`/-/storage/${owner}/remove`} fields={{ uploader }}>
    <button type="submit" class="danger">
      Delete everything that {uploader} attached…
    </button>
  </Post>
)

const sortingOf = (owner: string, asked: ItemListQuery): Sorting<NonNullable<StorageItemQuery['sort']>> => ({
  sort: asked.sort,
  isReverse: asked.reverse === true,
  pathOf: (sort, reverse) => pathOf(owner, { ...asked, sort, reverse, page: 1 }),
})

interface ItemRowProps {
  owner: string
  item: StorageItem
  link: string | undefined
  used: number
  isRemovable: boolean
  isChecked: boolean
  /** Whether the table has a column to select items. */
  canSelect: boolean
  /** Whether it has one of kinds: a list of one kind needs none. */
  hasKind: boolean
  /** Whether the table is sorted by the day on which items were added. */
  hasDay: boolean
}

const ItemRow = ({
  owner,
  item,
  link,
  used,
  isRemovable,
  isChecked,
  canSelect,
  hasKind,
  hasDay,
}: ItemRowProps) => (
  <tr>
    {canSelect && (
      <td class="check">
        {isRemovable && (
          <input
            type="checkbox"
            name="item"
            value={item.id}
            checked={isChecked}
            aria-label={`Select ${labelOf(item)}`}
            data-bytes={String(item.size)}
          />
        )}
      </td>
    )}
    <ItemCells owner={owner} item={item} link={link} hasKind={hasKind} hasDay={hasDay} />
    <td class="wide muted">
      <Day seconds={item.createdAt} />
    </td>
    <ShareCell part={item.size} whole={used} class="wide" />
    <SizeWithShare size={item.size} whole={used} />
  </tr>
)
