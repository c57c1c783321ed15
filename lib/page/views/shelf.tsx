/** @jsxRuntime automatic @jsxImportSource preact */

import type { Frame, View } from '../route.ts'
import { countWords } from '../words.ts'
import { Size } from './bar.tsx'

/** What an owner can list, in the order of the page. */
export const kinds = ['repositories', 'attachments', 'packages', 'artifacts'] as const
export type Kind = (typeof kinds)[number]
export const isKind = (text: string): text is Kind => (kinds as readonly string[]).includes(text)

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
export interface ShelfFacts {
  readonly kind: Kind
  readonly items: readonly Item[]
  readonly total: number
}

const titleOf = (kind: Kind): string => `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`

export const Shelf = ({ frame, owner, shelf }: { frame: Frame; owner: string; shelf: ShelfFacts }) => {
  const { kind, items, total } = shelf
  return (
    <section aria-labelledby={kind}>
      <h2 id={kind}>Largest {kind}</h2>
      {items.length === 0 ? <p>There are none.</p> : <Items frame={frame} owner={owner} shelf={shelf} />}
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

const Items = ({ frame, owner, shelf }: { frame: Frame; owner: string; shelf: ShelfFacts }) => (
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
      {shelf.items.map((item) => (
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
export const shelfView = (
  frame: Frame,
  owner: string,
  shelf: ShelfFacts,
  { number, size }: { number: number; size: number },
): View => {
  const path = `/-/storage/${owner}/${shelf.kind}`
  const last = Math.max(1, Math.ceil(shelf.total / size))
  return {
    title: `${titleOf(shelf.kind)} of ${owner}`,
    body: (
      <>
        <h1>
          {titleOf(shelf.kind)} of <a href={frame.at(`/-/storage/${owner}`)}>{owner}</a>
        </h1>
        <p>
          {countWords(
            shelf.total,
            shelf.kind.replace(/ies$|s$/, (end) => (end === 's' ? '' : 'y')),
            shelf.kind,
          )}
          , largest first.
        </p>
        {shelf.items.length > 0 && <Items frame={frame} owner={owner} shelf={shelf} />}
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
