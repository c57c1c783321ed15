import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { differencesOf } from './compare.ts'
import { differenceCases } from './differences/index.ts'
import { matches } from './pattern.ts'
import { type RecordedRequest, type Recording, recordingsOf } from './recordings.ts'
import { startWorld, type World, type WorldOptions } from './world.ts'

export interface ReplayOptions extends Omit<WorldOptions, 'signsIn'> {
  /** The recordings of this part, by id or pattern, where a family is replayed against several servers. */
  only?: string[]
  /** Creates the state before the first recording. */
  prepare?: (world: World) => Promise<unknown>
  /** By the id of a recording: state changes between it and the one before that were not recorded. */
  steps?: Record<string, (world: World) => Promise<unknown>>
  /** Called before each recording. */
  beforeEach?: (world: World, recording: Recording) => Promise<unknown>
  /**
   * By the id of a recording: its request where the recording is shortened, or names what has another id
   * here.
   */
  requests?: Record<string, Amended | ((world: World) => Promise<Amended>)>
  /** Recordings that need something that Allot does not have: the reason, by id or pattern. */
  leaveOut?: Record<string, string>
}

type Amended = Partial<RecordedRequest>

type Case = (typeof differenceCases)[number]

interface Found {
  id: string
  line: string
}

/**
 * Declares the specs of one family of recordings: every request is sent to a started Allot, and every
 * difference between the answer and the recorded one must be named in the table of intended differences,
 * which must not name any other.
 */
export const replay = (family: string, ...parts: ReplayOptions[]): void => {
  describe(`The recorded family ${family}`, () => {
    const table = differenceCases.filter(({ records }) => family in records)
    const found: Found[] = []

    it('is answered as recorded, except for the differences of the table', async () => {
      const left = new Set(recordingsOf(family))
      for (const part of parts.length === 0 ? [{}] : parts) found.push(...(await replayPart(left, part)))
      assert.deepEqual([...left], [], 'recordings that no part replays')
      const unnamed = found.filter((one) => !table.some((entry) => names(entry, family, one)))
      const message = `${unnamed.length} differences that the table does not name`
      assert.ok(unnamed.length === 0, [message, ...grouped(unnamed)].join('\n'))
    })

    it('shows every difference of the table', () => {
      const message = 'entries of the table that match no difference'
      assert.deepEqual(
        table.flatMap((entry) => unused(entry, family, found)),
        [],
        message,
      )
    })
  })
}

/** Replays the recordings of one part, and removes them from `left`. */
const replayPart = async (left: Set<Recording>, part: ReplayOptions): Promise<Found[]> => {
  const isOf = (patterns: string[], { id }: Recording) => patterns.some((pattern) => matches(pattern, id))
  const own = [...left].filter((recording) => isOf(part.only ?? ['*'], recording))
  for (const recording of own) left.delete(recording)
  const world = await startWorld({ ...part, signsIn: signsInBy(own) })
  try {
    await part.prepare?.(world)
    const found: Found[] = []
    for (const recording of own) {
      if (isOf(Object.keys(part.leaveOut ?? {}), recording)) continue
      const { id } = recording
      await part.steps?.[id]?.(world)
      await part.beforeEach?.(world, recording)
      const given = part.requests?.[id]
      const amended = typeof given === 'function' ? await given(world) : given
      const lines = await answered(world, recording, amended)
      found.push(...lines.map((line) => ({ id, line })))
    }
    return found
  } finally {
    await world.running.stop()
  }
}

/** Which users sign in with a password: all where a recording has a literal header. */
const signsInBy = (recordings: Recording[]) => {
  const isLiteral = recordings.some(({ request }) => request.auth?.startsWith('Basic '))
  const names = new Set(recordings.filter(({ request }) => request.auth === 'basic').map(({ as }) => as))
  return (name: string) => isLiteral || names.has(name)
}

const answered = async (world: World, recording: Recording, amended: Amended = {}): Promise<string[]> => {
  const request = { ...recording.request, ...amended }
  const answer = await world.send({ as: recording.as, request })
  return differencesOf(recording, answer, world.running.base)
}

const names = ({ records, lines }: Case, family: string, { id, line }: Found): boolean =>
  records[family]!.some((pattern) => matches(pattern, id)) && lines.some((pattern) => matches(pattern, line))

/** The patterns of an entry that match no difference of the family. */
const unused = (entry: Case, family: string, found: Found[]): string[] => {
  const named = found.filter((one) => names(entry, family, one))
  const records = entry.records[family]!.filter((pattern) => !named.some(({ id }) => matches(pattern, id)))
  const lines = entry.lines.filter((pattern) => !named.some(({ line }) => matches(pattern, line)))
  return [...records, ...(records.length > 0 ? [] : lines)].map((pattern) => `${entry.title}: ${pattern}`)
}

/** Lists each difference once, with the ids of its recordings. */
const grouped = (found: Found[]): string[] => {
  const ids = new Map<string, string[]>()
  for (const { id, line } of found) ids.set(line, [...(ids.get(line) ?? []), id])
  return [...ids].map(([line, of]) => `${line} [${of.slice(0, 12).join(', ')}${of.length > 12 ? ' …' : ''}]`)
}
