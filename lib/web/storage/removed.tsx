/** What a deletion frees and what stays in other systems, as the pages that ask before it show it. */
import {
  freedBy,
  type KindPlaces,
  kindPlaces,
  mayFreeMore,
  type RemovedKind,
  removedKinds,
} from '../../content/usage/removal-sizes.ts'
import type { StorageItem } from '../../content/usage/storage-item.ts'
import type { LedgerKind } from '../../records/schema/index.ts'
import { Link, Size, SizeCell, unbrokenSize } from '../parts/components.tsx'
import { Table } from '../parts/list.tsx'
import type { PageServices } from '../parts/route.ts'
import { KIND_NAMES, titleOf } from './item-text.tsx'

/** An item that goes; a repository with what is in it. */
export interface RemovedItem extends StorageItem {
  /** Name of its owner. */
  readonly owner: string
  readonly kinds: readonly RemovedKind[]
}

export const removedItems = (
  { store }: PageServices,
  items: readonly (StorageItem & { owner: string })[],
): Promise<RemovedItem[]> =>
  store.read(async (tx) => {
    const places = await kindPlaces(tx)
    return items.map((item) => ({ ...item, kinds: kindsIn(item, places) }))
  })

/** Single items are offered only if this server stores them. */
const kindsIn = ({ kind, size, usage }: StorageItem, places: KindPlaces): RemovedKind[] =>
  usage ? removedKinds([usage], places) : [{ kind: kind as LedgerKind, bytes: size, isStoredHere: true }]

/** `3 MiB`, or `at least 3 MiB` when other systems have a part. */
export const freedText = (kinds: readonly RemovedKind[]): string =>
  `${mayFreeMore(kinds) ? 'at least ' : ''}${unbrokenSize(freedBy(kinds))}`

const columns = (head: string) => [{ head }, { head: 'Frees', class: 'number' }]

/** A table of kinds, and what happens to what other systems have. */
export const RemovedKinds = ({ kinds }: { kinds: readonly RemovedKind[] }) => (
  <>
    {kinds.length > 0 && (
      <Table columns={columns('Kind')}>
        <KindRows kinds={kinds} />
      </Table>
    )}
    <StayingNote kinds={kinds} />
  </>
)

export const StayingNote = ({ kinds }: { kinds: readonly RemovedKind[] }) =>
  kinds.every(({ isStoredHere }) => isStoredHere) ? null : (
    <p class="small">
      What is stored in another system no longer counts toward the limits, but its files stay where they are:
      delete them in that system.
    </p>
  )

/** A table of items, each with what is in it. */
export const RemovedTable = ({ head, items }: { head: string; items: readonly RemovedItem[] }) => (
  <Table columns={columns(head)}>
    {items.map((item) => (
      <>
        <tr key={item.id}>
          <td>
            <bdi class="strong">{titleOf(item)}</bdi>
            <div class="small">{item.usage ? `repository of ${item.owner}` : KIND_NAMES[item.kind][0]}</div>
          </td>
          <SizeCell bytes={freedBy(item.kinds)} />
        </tr>
        {item.usage && <KindRows kinds={item.kinds} repository={item} />}
      </>
    ))}
  </Table>
)

interface KindRowsProps {
  kinds: readonly RemovedKind[]
  /** The repository that has them, whose lists say what stays. */
  repository?: RemovedItem
}

const KindRows = ({ kinds, repository }: KindRowsProps) => (
  <>
    {kinds.map(({ kind, bytes, isStoredHere }) => (
      <tr key={kind} class="part">
        <td>
          {KIND_NAMES[kind][1]}
          {isStoredHere === undefined && (
            <div class="small">Those that are stored in another system stay there.</div>
          )}
          {isStoredHere === false && (
            <div class="small">
              {unbrokenSize(bytes)}, stored in another system: not deleted there.{' '}
              {repository !== undefined && !repository.isHidden && (
                <Link
                  to={`/-/storage/${repository.owner}/usage?kind=${kind}&repository=${encodeURIComponent(repository.name)}`}
                  label={`View the ${KIND_NAMES[kind][1]} that stay`}
                >
                  View
                </Link>
              )}
            </div>
          )}
        </td>
        <td class="number">
          {isStoredHere === undefined && 'up to '}
          {isStoredHere === false ? <span class="state near">Stays</span> : <Size bytes={bytes} />}
        </td>
      </tr>
    ))}
  </>
)
