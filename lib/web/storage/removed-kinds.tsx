/** What a deletion frees and what stays in other systems, in words. */
import { freedBy, mayFreeMore, type RemovedKind } from '../../content/usage/removal-sizes.ts'
import type { StorageItem } from '../../content/usage/storage-item.ts'
import { formatCount, Link, Size, SizeCell } from '../parts/components.tsx'
import { unbrokenSize } from '../parts/sizes.ts'
import { KIND_NAMES, titleOf } from './item-text.tsx'

/**
 * `Git data`, `3 LFS objects`, `More than 3 LFS objects`, or `3 other packages` for those that were not
 * looked at
 */
const kindText = ({ kind, count, hasMore, isStoredHere }: RemovedKind): string => {
  const [singular, plural] = KIND_NAMES[kind]
  if (kind === 'git' || count === 0) return plural
  const counted = formatCount(count, isStoredHere === undefined ? `other ${singular}` : singular)
  return hasMore ? `More than ${counted}` : counted
}

/** `3 MiB`, or `at least 3 MiB` when not all items were looked at. */
export const freedText = (kinds: readonly RemovedKind[]): string =>
  `${mayFreeMore(kinds) ? 'at least ' : ''}${unbrokenSize(freedBy(kinds))}`

/** Columns of a table of what is deleted. */
export const freedColumns = (name: string) => [{ head: name }, { head: 'Frees', class: 'number' }]

/** Rows of a table with {@link freedColumns}: what is deleted here, then what stays. */
export const RemovedRows = ({
  kinds,
  listOf,
}: {
  kinds: readonly RemovedKind[]
  /** Path of the list of what stays of a kind, where there is one. */
  listOf: ((kind: RemovedKind['kind']) => string) | undefined
}) => (
  <>
    {kinds.map((removed) => (
      <tr key={`${removed.kind} ${removed.isStoredHere}`} class="part">
        <td>
          {kindText(removed)}
          {removed.isStoredHere === undefined && (
            <div class="small">Those that are stored in another system stay there.</div>
          )}
          {removed.isStoredHere === false && (
            <div class="small">
              {unbrokenSize(removed.bytes)}, stored in another system: not deleted there.{' '}
              {listOf !== undefined && (
                <Link to={listOf(removed.kind)} label={`View the ${KIND_NAMES[removed.kind][1]} that stay`}>
                  View
                </Link>
              )}
            </div>
          )}
        </td>
        <Freed {...removed} />
      </tr>
    ))}
  </>
)

const Freed = ({ bytes, isStoredHere }: RemovedKind) => (
  <td class="number">
    {isStoredHere === undefined && 'up to '}
    {isStoredHere === false ? <span class="state near">Stays</span> : <Size bytes={bytes} />}
  </td>
)

/** A repository with everything that goes with it, and what stays. */
export const RemovedRepository = ({
  owner,
  kinds,
  ...item
}: Pick<StorageItem, 'kind' | 'name' | 'isHidden'> & {
  owner: string
  kinds: readonly RemovedKind[]
}) => (
  <>
    <tr>
      <td>
        <bdi class="strong">{titleOf(item)}</bdi>
        <div class="small">repository of {owner}</div>
      </td>
      <SizeCell bytes={freedBy(kinds)} />
    </tr>
    <RemovedRows
      kinds={kinds}
      listOf={
        item.isHidden
          ? undefined
          : (kind) => `/-/storage/${owner}/usage?kind=${kind}&repository=${encodeURIComponent(item.name)}`
      }
    />
  </>
)

/** Says that items were not looked at, and what happens to entries of other systems. */
export const RemovalNotes = ({ kinds }: { kinds: readonly RemovedKind[] }) => (
  <>
    {mayFreeMore(kinds) && (
      <p class="small">
        There are too many items to look at each here: only the largest are sorted by where they are stored.
      </p>
    )}
    <StayingText kinds={kinds} />
  </>
)

/** What happens to entries of other systems. */
const StayingText = ({ kinds }: { kinds: readonly RemovedKind[] }) =>
  kinds.some(({ isStoredHere }) => isStoredHere === false) ? (
    <p class="small">
      What is stored in another system no longer counts toward the limits, but its files stay where they are:
      delete them in that system.
    </p>
  ) : null
