/** @jsxRuntime automatic @jsxImportSource preact */
/** The table of things that use storage, with its sortable columns and the boxes that select rows. */
import type { Identity } from '../../accounts/access.ts'
import { isRemovable, type StorageItem, type StorageItemQuery } from '../../content/usage/storage-item.ts'
import type { Sum } from '../../integers.ts'
import { Post, usePageContext } from '../components.tsx'
import { Day } from '../times.tsx'
import { ShareCell } from './share.tsx'
import { pathOf, type ThingListQuery } from './thing-query.ts'
import { labelOf, SizeWithShare, ThingCells } from './thing-text.tsx'

interface ThingsProps {
  owner: string
  asked: ThingListQuery
  things: readonly StorageItem[]
  links: ReadonlyMap<string, string | undefined>
  /** Bytes of all things of the owner. */
  used: Sum
  user: Identity
  isChecked: boolean
}

export const Things = ({ owner, asked, things, links, used, user, isChecked }: ThingsProps) => {
  const removable = things.filter((thing) => isRemovable(user, thing))
  const canSelect = removable.length > 0
  return (
    <Post to={`/-/storage/${owner}/remove`}>
      <table class="things">
        <thead>
          <tr>
            {canSelect && (
              <th scope="col" class="check">
                <span class="hidden">Select</span>
              </th>
            )}
            <SortHead owner={owner} asked={asked} by="name" text="Name" />
            {asked.kind === undefined && (
              <th scope="col" class="wide">
                Kind
              </th>
            )}
            <SortHead owner={owner} asked={asked} by="created" text="Added" class="wide" />
            <th scope="col" class="number share wide">
              Share
            </th>
            <SortHead owner={owner} asked={asked} by="size" text="Size" class="number" />
          </tr>
        </thead>
        <tbody>
          {things.map((thing) => (
            <StorageItemRow
              key={thing.id}
              owner={owner}
              thing={thing}
              used={used}
              isChecked={isChecked}
              canSelect={canSelect}
              hasKind={asked.kind === undefined}
              link={links.get(thing.id)}
              isRemovable={removable.includes(thing)}
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
  )
}

interface SortHeadProps {
  owner: string
  asked: ThingListQuery
  by: NonNullable<StorageItemQuery['sort']>
  text: string
  class?: string
}

const SortHead = ({ owner, asked, by, text, class: className }: SortHeadProps) => {
  const isSorted = asked.sort === by
  const isDescending = (by === 'name') === (asked.reverse === true)
  const sorted = isSorted ? (isDescending ? 'descending' : 'ascending') : undefined
  const to = pathOf(owner, { ...asked, sort: by, reverse: isSorted && !asked.reverse, page: 1 })
  return (
    <th scope="col" class={className} aria-sort={sorted}>
      <a href={usePageContext().urlOf(to)}>
        {text}
        {isSorted && (isDescending ? ' ↓' : ' ↑')}
      </a>
    </th>
  )
}

interface ThingRowProps {
  owner: string
  thing: StorageItem
  link: string | undefined
  used: Sum
  isRemovable: boolean
  isChecked: boolean
  /** Whether the table has a column to select things. */
  canSelect: boolean
  /** Whether it has one of kinds: a list of one kind needs none. */
  hasKind: boolean
}

const StorageItemRow = ({
  owner,
  thing,
  link,
  used,
  isRemovable,
  isChecked,
  canSelect,
  hasKind,
}: ThingRowProps) => (
  <tr>
    {canSelect && (
      <td class="check">
        {isRemovable && (
          <input
            type="checkbox"
            name="thing"
            value={thing.id}
            checked={isChecked}
            aria-label={`Select ${labelOf(thing)}`}
            data-bytes={String(thing.size)}
          />
        )}
      </td>
    )}
    <ThingCells owner={owner} thing={thing} link={link} hasKind={hasKind} />
    <td class="wide muted">
      <Day seconds={thing.createdAt} />
    </td>
    <ShareCell part={thing.size} whole={used} class="wide" />
    <SizeWithShare size={thing.size} whole={used} />
  </tr>
)
