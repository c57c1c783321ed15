import { Readable } from 'node:stream'
import { AllotError } from '../errors.ts'
import { createPktLineParser, FLUSH, type PktLine, pktLine } from './pkt-lines.ts'
import type { GitProcess } from './process.ts'
import { chunksOf } from './small-body.ts'

/** One reference that a push changes: `before` is null when it is created, `after` when it is deleted. */
export interface RefUpdate {
  readonly ref: string
  readonly before: string | null
  readonly after: string | null
}

/** The commands of a push, which precede its pack. */
interface ParsedPush {
  /** Without commands that change nothing. */
  readonly updates: readonly RefUpdate[]
  /** Whether the push has no commands, also none that change nothing. */
  readonly isEmpty: boolean
  /** Whether the response is divided into channels (side-band). */
  readonly isSideband: boolean
  /** The bytes of the commands. */
  readonly bytes: Buffer
}

/** The commands of about 100,000 references. */
const MAX_COMMAND_BYTES = 16 * 1024 * 1024

const COMMAND = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (refs\/[^\0\n]+)(?:\0([^\n]*))?\n?$/
const SHALLOW = /^shallow [0-9a-f]{40,64}\n?$/

/**
 * Reads the commands of a push; its pack stays in the stream. The report of the response is later compared
 * with the commands.
 * @param idleTimeout milliseconds that may pass without a byte of them
 * @throws AllotError bad_request when the commands are malformed, change a reference twice, ask for no
 * report, or stop arriving; too_large
 */
export const readPush = async (body: Readable, idleTimeout: number): Promise<ParsedPush> =>
  parseCommands(await readSection(body, idleTimeout))

const parseCommands = (lines: readonly PktLine[]): ParsedPush => {
  const texts = lines.flatMap(({ payload }) => (payload === undefined ? [] : [payload.toString('latin1')]))
  const commands = texts.filter((text) => !SHALLOW.test(text)).map(parseCommand)
  const capabilities = commands[0]?.capabilities ?? []
  if (commands.length > 0 && !capabilities.some((name) => /^report-status(?:-v2)?$/.test(name)))
    throw new AllotError('bad_request', 'a push must request a report: report-status is missing')
  // The report has the name alone: it cannot tell which of two commands has succeeded.
  if (new Set(commands.map(({ name }) => name)).size < commands.length)
    throw new AllotError('bad_request', 'the push changes a reference twice')
  return {
    updates: commands.map(({ update }) => update).filter(({ before, after }) => before !== after),
    isEmpty: commands.length === 0,
    isSideband: capabilities.some((name) => /^side-band/.test(name)),
    bytes: Buffer.concat(lines.map(({ bytes }) => bytes)),
  }
}

/** The packets up to the first flush packet; what follows is put back into the stream. */
const readSection = async (body: Readable, idleTimeout: number): Promise<PktLine[]> => {
  const parser = createPktLineParser()
  const lines: PktLine[] = []
  let size = 0
  for await (const chunk of chunksOf(body, idleTimeout)) {
    size += chunk.length
    for (const line of parser.add(chunk)) {
      lines.push(line)
      if (line.payload !== undefined) continue
      if (parser.rest().length > 0) body.unshift(parser.rest())
      return lines
    }
    if (size > MAX_COMMAND_BYTES)
      throw new AllotError('too_large', 'the push changes too many references at once: push them in parts')
  }
  throw new AllotError('bad_request', 'the push ended before its commands did')
}

/** @param text with a character for each byte: names of different bytes can be the same UTF-8 */
const parseCommand = (text: string): { name: string; update: RefUpdate; capabilities: string[] } => {
  const [, before, after, name, capabilities = ''] = COMMAND.exec(text) ?? []
  if (name === undefined)
    throw new AllotError('bad_request', 'the push has a command that is not well-formed')
  const ref = Buffer.from(name, 'latin1').toString('utf8')
  return {
    name,
    update: { ref, before: objectId(before!), after: objectId(after!) },
    capabilities: capabilities.split(' '),
  }
}

const objectId = (hex: string): string | null => (/^0+$/.test(hex) ? null : hex)

/**
 * The channels of a side-band response (gitprotocol-pack): the report, messages for the user, an error that
 * ends it.
 */
const [REPORT, PROGRESS, FATAL] = [1, 2, 3]

/**
 * The response to a push. Progress is sent at once; the report is held until `onFinished` resolves, so that a
 * client never learns of a push that is not counted. Reads git's output to the end, even when the client has
 * disconnected.
 * @param onFinished called after git has ended, with the updates that succeeded; with undefined when git has
 * ended before its report did
 * @returns `finished` resolves after `onFinished` has settled
 */
export const holdReport = (
  child: Pick<GitProcess, 'stdout' | 'ended'>,
  request: ParsedPush,
  onFinished: (updates: readonly RefUpdate[] | undefined) => Promise<void>,
): { readonly output: Readable; readonly finished: Promise<void> } => {
  const output = new Readable({ read: () => undefined })
  const report = createReport(request.isSideband, (progress) => output.push(progress))
  const work = async () => {
    const failure = await readAll(child.stdout, report.add)
    await child.ended
    const succeeded = succeededIn(report.payload())
    await onFinished(succeeded && request.updates.filter(({ ref }) => succeeded.has(ref)))
    if (failure !== undefined) throw failure
  }
  const finished = work().then(
    () => end(output, report.bytes()),
    (error: Error) => {
      if (request.isSideband) end(output, fatalPacket(error.message))
      else output.destroy(error)
    },
  )
  return { output, finished }
}

/** @returns the error of the stream, if it fails */
const readAll = async (stream: Readable, onChunk: (chunk: Buffer) => void): Promise<Error | undefined> => {
  try {
    for await (const chunk of stream) onChunk(chunk as Buffer)
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

const fatalPacket = (message: string): Buffer =>
  Buffer.concat([pktLine(Buffer.concat([Buffer.of(FATAL), Buffer.from(`${message}\n`)])), FLUSH])

/** Collects everything but progress. */
const createReport = (isSideband: boolean, onProgress: (packet: Buffer) => void) => {
  const parser = createPktLineParser()
  const [packets, payloads]: [Buffer[], Buffer[]] = [[], []]
  const add = ({ bytes, payload }: PktLine) => {
    if (isSideband && payload?.[0] === PROGRESS) return onProgress(bytes)
    packets.push(bytes)
    if (!isSideband) payloads.push(bytes)
    else if (payload?.[0] === REPORT) payloads.push(payload.subarray(1))
  }
  return {
    add(chunk: Buffer) {
      for (const line of parser.add(chunk)) add(line)
    },
    bytes: () => Buffer.concat([...packets, parser.rest()]),
    payload: () => Buffer.concat(payloads),
  }
}

/** The lines of a report: `unpack ok`, then `ok REF` or `ng REF REASON` for each reference. */
const linesOfReport = (report: Buffer): string[] =>
  [...createPktLineParser().add(report)].map(({ payload }) =>
    (payload?.toString('utf8') ?? '').replace(/\n$/, ''),
  )

/** Reads the report and the messages of a whole side-band response. */
export const readReport = (response: Buffer) => {
  const [report, messages]: [Buffer[], Buffer[]] = [[], []]
  for (const { payload } of createPktLineParser().add(response)) {
    if (payload === undefined || payload.length === 0) continue
    if (payload[0] === REPORT) report.push(payload.subarray(1))
    else messages.push(payload.subarray(1))
  }
  const lines = linesOfReport(Buffer.concat(report))
  const find = (prefix: string) => lines.find((line) => line.startsWith(prefix))
  // git sends its messages in parts of any length.
  return {
    unpacked: find('unpack '),
    refused: find('ng '),
    output: Buffer.concat(messages).toString('utf8').trim(),
  }
}

/** @returns undefined when the report has no end */
const succeededIn = (report: Buffer): Set<string> | undefined => {
  const lines = linesOfReport(report)
  // A flush packet is the end.
  if (lines.at(-1) !== '') return undefined
  return new Set(lines.flatMap((line) => (line.startsWith('ok ') ? [line.slice('ok '.length)] : [])))
}
