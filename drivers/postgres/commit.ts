import { StorageError } from '../../lib/storage/index.ts'
import { byteas, bytesOf, integers } from './arrays.ts'
import { type Batch, type BatchEnd, expectedOf } from './batch.ts'
import type { Connections, Writer } from './connections.ts'
import { isConflict, isLost } from './explain.ts'
import { fate } from './fate.ts'
import type { Looking } from './looking.ts'
import { jitter } from './patience.ts'
import { aboutKey } from './questions.ts'
import { isSame, type Recollection } from './recollection.ts'
import type { Row } from './session.ts'

/** How often a batch is sent again as it is: whoever was in the way may not have changed what it goes by. */
const SENDINGS = 8

export interface Committing {
  readonly connections: Connections
  readonly recollection: Recollection
  readonly looking: Looking
}

/** Sends a batch, in one round trip; what it has gone by is compared and what it changes is written at one moment. */
export const commit = async (house: Committing, batch: Batch): Promise<BatchEnd> => {
  try {
    const end = batch.isOvertaken ? 'overtaken' : await sent(house, batch)
    if (end === 'written') house.recollection.noteChanges(batch.layer.changes())
    // The pages of ranges are not told apart by what has become of them.
    if (end === 'overtaken')
      for (const [id, { question }] of batch.seen)
        if (question.end !== undefined) house.recollection.forget(id)
    return end
  } catch (cause) {
    return { error: house.connections.explain(cause) }
  }
}

const sent = async (house: Committing, batch: Batch): Promise<'written' | 'overtaken'> => {
  if (batch.layer.size === 0) return compared(house, batch)
  const values = valuesOf(batch)
  for (let attempt = 0; attempt < SENDINGS; attempt++) {
    const end = await sentOnce(house, values)
    if (end !== 'again') return end
    await jitter(attempt)
  }
  throw new StorageError('busy', 'too many writes of the same things at once: try again in a moment')
}

/** Writes that change nothing have only to know that what they go by holds. */
const compared = async ({ looking }: Committing, { seen }: Batch): Promise<'written' | 'overtaken'> => {
  if (seen.size === 0) return 'written'
  const known = await looking.ask([...seen.values()].map(({ question }) => question))
  for (const [id, { answer }] of seen) if (!isSame(answer, known.get(id)!.answer)) return 'overtaken'
  return 'written'
}

type Values = ReturnType<typeof valuesOf>

const sentOnce = async (
  { connections, recollection }: Committing,
  { expected, changed }: Values,
): Promise<'written' | 'overtaken' | 'again'> => {
  const moment = recollection.next()
  let used: Writer | undefined
  try {
    const rows = await connections.withWriter((session, writer) => {
      used = writer
      return session.run(connections.statements.commit, [...expected, writer.id, ++writer.last, ...changed])
    })
    const end = endOf(rows, moment, recollection)
    return end
  } catch (error) {
    if (isConflict(error)) return 'again'
    if (used === undefined || !isLost(error)) throw error
    return (await fate(connections, used)) === 'written' ? 'written' : 'again'
  }
}

const [WRITTEN, STALE] = ['0', '1']

const endOf = (rows: readonly Row[], moment: number, recollection: Recollection) => {
  if (rows.length === 0) return 'again'
  if (rows[0]![0] === WRITTEN) return 'written'
  for (const [what, key, value] of rows) {
    if (what !== STALE) continue
    const at = bytesOf(key!)
    recollection.note({
      question: aboutKey(at),
      answer: value === null ? [] : [[at, bytesOf(value!)]],
      moment,
    })
  }
  return 'overtaken'
}

const valuesOf = ({ seen, layer }: Batch) => {
  const { keys, counts } = expectedOf(seen)
  const changes = [...layer.changes()]
  const puts = changes.filter(([, value]) => value !== undefined)
  const deletes = changes.filter(([, value]) => value === undefined)
  return {
    expected: [
      byteas(keys.map(([key]) => key)),
      byteas(keys.map(([, value]) => value)),
      byteas(counts.map(({ start }) => start)),
      byteas(counts.map(({ end }) => end)),
      integers(counts.map(({ count }) => count)),
    ],
    changed: [
      byteas(puts.map(([key]) => key)),
      byteas(puts.map(([, value]) => value)),
      byteas(deletes.map(([key]) => key)),
    ],
  }
}
