import type { CopyIds } from '../../../lib/records/schema/index.ts'
import { LABELS } from '../labels.ts'
import { type Item, labelOf, membersOf, type Things, type Values } from '../things.ts'
import type { Comparison } from './comparison.ts'

/** Compares things here with the items of the source that a migration copies, and changes nothing. */

const oneOf = (things: Things): string => things.one ?? LABELS[things.kind].one

/** @param copy undefined: there is none */
export const compareItem = async (
  comparison: Comparison,
  things: Things,
  item: Item,
  copy: CopyIds | undefined,
): Promise<void> => {
  if (copy !== undefined) {
    comparison.see(things.kind, copy)
    await compareCopy(comparison, things, item, copy)
  } else if ((await item.isPossible?.()) !== false) comparison.missing(oneOf(things), labelOf(things, item))
  else return
  comparison.count(LABELS[things.kind].many, 'found')
}

export const compareCopy = async (
  comparison: Comparison,
  things: Things,
  item: Item,
  copy: CopyIds,
): Promise<void> => {
  const label = labelOf(things, item)
  const here: Values = { ...(await membersOf(things, copy, item.name)), ...(await things.kept?.(copy)) }
  const source = { ...item.values, ...item.kept }
  comparison.fields(oneOf(things), label, source, here)
}

/** Names the things that exist only here. */
export const compareOthers = async (comparison: Comparison, things: Things): Promise<void> => {
  for (const { copy, label } of (await things.list?.()) ?? [])
    if (!comparison.hasSeen(things.kind, copy))
      comparison.additional(oneOf(things), labelOf(things, { label }))
}
