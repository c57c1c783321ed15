import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { AllotOptions } from '../../lib/index.ts'
import { differencesOf } from './compare.ts'
import { type Difference, intendedDifferences } from './differences/index.ts'
import { type RecordedRequest, type Recording, recordingsOf } from './recordings.ts'
import { startWorld, type World } from './world.ts'

export interface ReplayOptions {
  options?: Partial<AllotOptions>
  /** Makes the state that the first recording of the family was answered with. */
  prepare?: (world: World) => Promise<unknown>
  /** By the id of a recording: state changes between it and the one before that were not recorded. */
  steps?: Record<string, (world: World) => Promise<unknown>>
  /** By the id of a recording: its request where the recording is shortened, or names what has another id here. */
  requests?: Record<string, Amended | ((world: World) => Promise<Amended>)>
  /** Leaves out recordings that need something which Allot does not have; the reason by id or pattern. */
  leaveOut?: Record<string, string>
}

type Amended = Partial<RecordedRequest>

interface Found {
  id: string
  line: string
}

/**
 * Declares the specs of one family of recordings: every request is sent to a started Allot, and every difference between
 * the answer and the recorded one must be named in the table of intended differences, which must not name any other.
 */
export const replay = (family: string, options: ReplayOptions = {}): void => {
  describe(`The recorded family ${family}`, () => {
    const recordings = recordingsOf(family).filter(
      ({ id }) => !Object.keys(options.leaveOut ?? {}).some((pattern) => matches(pattern, id)),
    )
    const table = intendedDifferences.filter(({ records }) => family in records)
    const found: Found[] = []
    let world: World
    before(async () => {
      world = await startWorld(options.options)
      await options.prepare?.(world)
    })
    after(() => world.running.stop())

    it('is answered as recorded, apart from the differences that the table names', async () => {
      for (const recording of recordings) {
        await options.steps?.[recording.id]?.(world)
        const given = options.requests?.[recording.id]
        const amended = typeof given === 'function' ? await given(world) : given
        const lines = await answered(world, recording, amended)
        found.push(...lines.map((line) => ({ id: recording.id, line })))
      }
      const unnamed = found.filter((one) => !table.some((entry) => names(entry, family, one)))
      const message = `${unnamed.length} differences that the table does not name`
      assert.ok(unnamed.length === 0, [message, ...grouped(unnamed)].join('\n'))
    })

    it('differs in everything that the table names', () => {
      assert.deepEqual(
        table.flatMap((entry) => unused(entry, family, found)),
        [],
      )
    })
  })
}

const answered = async (world: World, recording: Recording, amended: Amended = {}): Promise<string[]> => {
  const request = { ...recording.request, ...amended }
  const answer = await world.send({ as: recording.as, request })
  return differencesOf(recording, answer, world.running.base)
}

const names = ({ records, lines }: Difference, family: string, { id, line }: Found): boolean =>
  records[family]!.some((pattern) => matches(pattern, id)) && lines.some((pattern) => matches(pattern, line))

/** The patterns of an entry that match no difference of the family. */
const unused = (entry: Difference, family: string, found: Found[]): string[] => {
  const named = found.filter((one) => names(entry, family, one))
  const records = entry.records[family]!.filter((pattern) => !named.some(({ id }) => matches(pattern, id)))
  const lines = entry.lines.filter((pattern) => !named.some(({ line }) => matches(pattern, line)))
  return [...records, ...(records.length > 0 ? [] : lines)].map((pattern) => `${entry.title}: ${pattern}`)
}

/** The same difference of several recordings once, with their ids. */
const grouped = (found: Found[]): string[] => {
  const ids = new Map<string, string[]>()
  for (const { id, line } of found) ids.set(line, [...(ids.get(line) ?? []), id])
  return [...ids].map(([line, of]) => `${line} [${of.slice(0, 12).join(', ')}${of.length > 12 ? ' …' : ''}]`)
}

const patterns = new Map<string, RegExp>()

/** `*` in a pattern matches any text. */
const matches = (pattern: string, text: string): boolean => {
  let expression = patterns.get(pattern)
  if (expression === undefined) {
    const parts = pattern.split('*').map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
    expression = new RegExp(`^${parts.join('[^]*')}$`)
    patterns.set(pattern, expression)
  }
  return expression.test(text)
}
