/** @jsxRuntime automatic @jsxImportSource preact */
/** What a deletion frees and what stays in other systems, in words. */
import { formatSize } from '../../byte-sizes.ts'
import { freedBy, type RemovedKind } from '../../content/usage/removal-sizes.ts'
import { formatCount, Link, SizeCell } from '../parts/components.tsx'
import { KIND_NAMES } from './item-text.tsx'

/** `Git data`, or `3 LFS objects` */
const kindText = ({ kind, count }: RemovedKind): string =>
  kind === 'git' ? KIND_NAMES.git[1] : formatCount(count, KIND_NAMES[kind][0])

/** Rows of a table with the columns `Name` and `Frees`: what is deleted here, then what stays. */
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
          {!removed.isStoredHere && (
            <div class="small">
              {formatSize(removed.bytes)}, kept elsewhere: not deleted there.{' '}
              {listOf !== undefined && (
                <Link to={listOf(removed.kind)} label={`View the ${KIND_NAMES[removed.kind][1]} that stay`}>
                  View
                </Link>
              )}
            </div>
          )}
        </td>
        {removed.isStoredHere ? (
          <SizeCell bytes={removed.bytes} />
        ) : (
          <td class="number">
            <span class="state near">Stays</span>
          </td>
        )}
      </tr>
    ))}
  </>
)

/** A repository with everything that goes with it, and what stays. */
export const RemovedRepository = ({
  owner,
  name,
  kinds,
}: {
  owner: string
  name: string
  kinds: readonly RemovedKind[]
}) => (
  <>
    <tr>
      <td>
        <bdi>{name}</bdi>
        <div class="small">repository of {owner}</div>
      </td>
      <SizeCell bytes={freedBy(kinds)} />
    </tr>
    <RemovedRows
      kinds={kinds}
      listOf={(kind) => `/-/storage/${owner}/usage?kind=${kind}&repository=${encodeURIComponent(name)}`}
    />
  </>
)

/** What happens to entries of other systems. */
export const StayingText = ({ kinds }: { kinds: readonly RemovedKind[] }) =>
  kinds.some(({ isStoredHere }) => !isStoredHere) ? (
    <p class="small">
      What is kept elsewhere no longer counts toward the limits, but its files stay where they are: delete
      them in the system that keeps them.
    </p>
  ) : null
