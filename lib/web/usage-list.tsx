/** @jsxRuntime automatic @jsxImportSource preact */

import { formatCount } from './format.ts'
import type { PageContext, View } from './route.ts'
import { Size } from './usage-bar.tsx'

/** What an owner can list, in the order of the page. */
export const usageKinds = ['repositories', 'attachments', 'packages', 'artifacts'] as const
export type UsageKind = (typeof usageKinds)[number]
export const isUsageKind = (text: string): text is UsageKind =>
  (usageKinds as readonly string[]).includes(text)

/** One thing that counts. */
export interface Item {
  /** Tells it from the others of its page. */
  readonly key: string
  readonly name: string
  /** Where it is, or what it is, in a few words. */
  readonly about: string
  readonly bytes: number
  /** Where more of it is shown; undefined where nothing is. */
  readonly href: string | undefined
  /** The repository that it is in. */
  readonly repository: string | undefined
}

/** A page of what counts, largest first. */
export interface UsageListData {
  readonly kind: UsageKind
  readonly items: readonly Item[]
  readonly total: number
}

const titleOf = (kind: UsageKind): string => `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`

export const UsageList = ({
  frame,
  owner,
  list,
}: {
  frame: PageContext
  owner: string
  list: UsageListData
}) => {
  const { kind, items, total } = list
  return (
    <section aria-labelledby={kind}>
      <h2 id={kind}>Largest {kind}</h2>
      {items.length === 0 ? <p>There are none.</p> : <Items frame={frame} owner={owner} list={list} />}
      {total > items.length && (
        <p>
          <a href={frame.at(`/-/storage/${owner}/${kind}`)}>
            All {total.toLocaleString('en')} {kind}
          </a>
        </p>
      )}
    </section>
  )
}

const Items = ({ frame, owner, list }: { frame: PageContext; owner: string; list: UsageListData }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col" class="number">
          Size
        </th>
      </tr>
    </thead>
    <tbody>
      {list.items.map((item) => (
        <tr key={item.key}>
          <td>
            {item.href === undefined ? item.name : <a href={item.href}>{item.name}</a>}
            <div class="small">
              {item.about}
              {item.repository !== undefined && (
                <>
                  {' in '}
                  <a href={frame.at(`/-/storage/${owner}/repositories/${item.repository}`)}>
                    {item.repository}
                  </a>
                </>
              )}
            </div>
          </td>
          <td class="number">
            <Size bytes={item.bytes} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

/** A page of a longer list. */
export const usageListView = (
  frame: PageContext,
  owner: string,
  list: UsageListData,
  { number, size }: { number: number; size: number },
): View => {
  const path = `/-/storage/${owner}/${list.kind}`
  const last = Math.max(1, Math.ceil(list.total / size))
  return {
    title: `${titleOf(list.kind)} of ${owner}`,
    body: (
      <>
        <h1>
          {titleOf(list.kind)} of <a href={frame.at(`/-/storage/${owner}`)}>{owner}</a>
        </h1>
        <p>
          {formatCount(
            list.total,
            list.kind.replace(/ies$|s$/, (end) => (end === 's' ? '' : 'y')),
            list.kind,
          )}
          , largest first.
        </p>
        {list.items.length > 0 && <Items frame={frame} owner={owner} list={list} />}
        <Pages at={(page) => frame.at(`${path}?page=${page}`)} number={number} last={last} />
      </>
    ),
  }
}

/** To the pages before and after. */
export const Pages = ({
  at,
  number,
  last,
  words: [before, after] = ['Larger', 'Smaller'],
}: {
  at: (page: number) => string
  number: number
  last: number
  /** What is on the page before, and on the page after. */
  words?: readonly [before: string, after: string]
}) =>
  last === 1 ? null : (
    <nav class="pages" aria-label="Pages of the list">
      {number > 1 && (
        <a rel="prev" href={at(number - 1)}>
          {before}
        </a>
      )}
      <span>
        Page {number} of {last}
      </span>
      {number < last && (
        <a rel="next" href={at(number + 1)}>
          {after}
        </a>
      )}
    </nav>
  )
