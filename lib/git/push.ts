import { Readable } from 'node:stream'
import { AllotError } from '../errors.ts'
import { createPktLines, FLUSH, type PktLine, pktLine } from './pkt-lines.ts'
import type { GitProcess } from './process.ts'

/** One ref that a push asks to change: null is before it is made, and after it is deleted. */
export interface RefUpdate {
  readonly ref: string
  readonly before: string | null
  readonly after: string | null
}

/** What a push asks for, ahead of its objects. */
export interface PushRequest {
  readonly updates: readonly RefUpdate[]
  readonly isSideband: boolean
  /** What was read of the request to know this; the rest is still to come. */
  readonly bytes: Buffer
}

/** Bytes of the commands: those of about a hundred thousand refs. */
const MAX_LENGTH = 16 * 1024 * 1024

const COMMAND = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (refs\/[^\0\n]+)(?:\0([^\n]*))?\n?$/
const SHALLOW = /^shallow [0-9a-f]{40,64}\n?$/

/**
 * Reads the commands of a push, so that the answer can be held to them.
 * @param timeoutMs milliseconds that they may take
 * @throws AllotError bad_request for what no git sends, and for a client that asks for no report of what was done.
 */
export const readPush = async (body: Readable, timeoutMs: number): Promise<PushRequest> => {
  const lines: PktLine[] = []
  const late = setTimeout(() => body.destroy(), timeoutMs)
  await eachPktLine(body, (line) => {
    lines.push(line)
    return line.payload === undefined
  }).finally(() => clearTimeout(late))
  const texts = lines.flatMap(({ payload }) => (payload === undefined ? [] : [payload.toString('utf8')]))
  const commands = texts.filter((text) => !SHALLOW.test(text)).map(parsed)
  const capabilities = commands[0]?.capabilities ?? []
  if (commands.length > 0 && !capabilities.some((one) => /^report-status(?:-v2)?$/.test(one)))
    throw new AllotError('bad_request', 'a push must ask for a report (report-status)')
  return {
    updates: commands.map(({ update }) => update),
    isSideband: capabilities.some((one) => /^side-band/.test(one)),
    bytes: Buffer.concat(lines.map(({ bytes }) => bytes)),
  }
}

/** Until the taker has enough; what follows is put back. */
const eachPktLine = async (body: Readable, take: (line: PktLine) => boolean): Promise<void> => {
  const reader = createPktLines()
  let size = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length
    for (const line of reader.add(chunk as Buffer))
      if (take(line)) {
        if (reader.rest().length > 0) body.unshift(reader.rest())
        return
      }
    if (size > MAX_LENGTH) throw new AllotError('too_large', 'a push must not change so many refs at once')
  }
  throw new AllotError('bad_request', 'the push ended before its commands did')
}

const parsed = (text: string): { update: RefUpdate; capabilities: string[] } => {
  const [, before, after, ref, capabilities = ''] = COMMAND.exec(text) ?? []
  if (ref === undefined) throw new AllotError('bad_request', 'this is no command of a push')
  return {
    update: { ref, before: objectId(before!), after: objectId(after!) },
    capabilities: capabilities.split(' '),
  }
}

const objectId = (hex: string): string | null => (/^0+$/.test(hex) ? null : hex)

/** The channels of an answer that carries several: the report, what a person may read, and the end of it all. */
const [REPORT, PROGRESS, FATAL] = [1, 2, 3]

export interface PushReport {
  /** The answer to the client. */
  readonly output: Readable
  /** Resolves when git is gone and the push has landed, or has failed to. */
  readonly finished: Promise<void>
}

/**
 * The answer to a push: progress goes out as it comes, and the report of what was done is held until `landed` resolves,
 * so that a client never hears of a push that is not counted. git is read to its end whether or not the client is there.
 */
export const holdReport = (
  session: Pick<GitProcess, 'stdout' | 'ended'>,
  request: PushRequest,
  landed: (updates: readonly RefUpdate[]) => Promise<void>,
): PushReport => {
  const output = new Readable({ read: () => undefined })
  const held = hold(request.isSideband, (progress) => output.push(progress))
  const finished = (async () => {
    const failure = await readAll(session.stdout, held.add)
    await session.ended
    const refs = new Set(refsIn(held.report()))
    await landed(request.updates.filter(({ ref }) => refs.has(ref)))
    if (failure !== undefined) throw failure
  })()
  const told = finished.then(
    () => end(output, held.bytes()),
    (error: Error) => (request.isSideband ? end(output, fatal(error.message)) : void output.destroy(error)),
  )
  return { output, finished: told }
}

/** @returns what went wrong */
const readAll = async (stream: Readable, take: (chunk: Buffer) => void): Promise<Error | undefined> => {
  try {
    for await (const chunk of stream) take(chunk as Buffer)
    return undefined
  } catch (error) {
    return error as Error
  }
}

const end = (output: Readable, bytes: Buffer): void => {
  if (output.destroyed) return
  output.push(bytes)
  output.push(null)
}

const fatal = (message: string): Buffer =>
  Buffer.concat([pktLine(Buffer.concat([Buffer.of(FATAL), Buffer.from(`${message}\n`)])), FLUSH])

const hold = (isSideband: boolean, pass: (progress: Buffer) => void) => {
  const lines = createPktLines()
  const [all, reported]: [Buffer[], Buffer[]] = [[], []]
  const take = ({ bytes, payload }: PktLine) => {
    if (isSideband && payload?.[0] === PROGRESS) return pass(bytes)
    all.push(bytes)
    if (!isSideband) reported.push(bytes)
    else if (payload?.[0] === REPORT) reported.push(payload.subarray(1))
  }
  return {
    add(chunk: Buffer) {
      for (const line of lines.add(chunk)) take(line)
    },
    bytes: () => Buffer.concat([...all, lines.rest()]),
    report: () => Buffer.concat(reported),
  }
}

/** `ok refs/heads/main` */
const refsIn = (report: Buffer): string[] =>
  [...createPktLines().add(report)].flatMap(({ payload }) => {
    const [, ref] = /^ok (.+?)\n?$/.exec(payload?.toString('utf8') ?? '') ?? []
    return ref === undefined ? [] : [ref]
  })
