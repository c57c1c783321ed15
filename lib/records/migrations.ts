import type { Bytes, WriteTransaction } from '../storage/driver.ts'
import { counter } from './counter.ts'
import { folded, gramsOf } from './grams.ts'
import { decodeKey, type KeyTuple } from './keys.ts'
import { spreadIndex } from './spread.ts'
import { decodeValue } from './values.ts'

/** Entries that are gone through in bounded transactions, each of them exactly once, kills and restarts included. */
export interface Pass {
  over: KeyTuple
  each(tx: WriteTransaction, key: Bytes, value: Bytes): void | Promise<void>
}

/** From one layout of the store to the next. */
export interface Step {
  from: number
  to: number
  migrate: readonly Pass[]
}

const assignmentsOfGroup = counter('assignment:group')

type Named = {
  id: number
  kind?: string
  name: string
  fullName?: string
  visibility?: string
  audience?: number
}

/** Entries for the parts of names, for whoever may know of them. */
const grams = (collection: string, from: (record: Named) => KeyTuple | undefined) =>
  spreadIndex<Named>(
    collection,
    'grams',
    { from, places: (of) => gramsOf(of.slice(1) as string[]).map((gram) => [gram, ...of]), counted: 2 },
    ({ id }) => [id],
  )
const accountGrams = grams('account', ({ kind, name, fullName, visibility }) =>
  kind === 'user'
    ? [['public', 'limited', 'private'].indexOf(visibility!), folded(name), folded(fullName!)]
    : undefined,
)
const repositoryGrams = grams('repository', ({ audience, name }) => [audience!, folded(name)])

/**
 * The way from every older layout to this one, in order. A step is never changed once it has been released, so it names
 * its keys itself: what schema.ts declares is the newest layout alone.
 */
export const steps: readonly Step[] = [
  {
    // 0 is every store from before the version was written down. They lack the entries for the parts of names, and the
    // older ones the count of a group's owners.
    from: 0,
    to: 1,
    migrate: [
      { over: ['assignment:group'], each: (tx, key) => tx.delete(key) },
      {
        over: ['assignment', 'o', 'group'],
        each: (tx, key) => assignmentsOfGroup.add(tx, [decodeKey(key)[3] as string], 1),
      },
      { over: ['repository', 'o', 'everyName'], each: (tx, key) => tx.delete(key) },
      { over: ['account:grams'], each: (tx, key) => tx.delete(key) },
      { over: ['repository:grams'], each: (tx, key) => tx.delete(key) },
      {
        over: ['account', 'r'],
        each: (tx, key, value) => accountGrams.move(tx, undefined, decodeValue(value), key),
      },
      {
        over: ['repository', 'r'],
        each: (tx, key, value) => repositoryGrams.move(tx, undefined, decodeValue(value), key),
      },
    ],
  },
]

/** The layout that this program reads and writes. */
export const SCHEMA = steps.at(-1)!.to
