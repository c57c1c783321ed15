import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { AllotError } from '../errors.ts'
import { createPktLineParser, FLUSH, type PktLine, pktLine } from './pkt-lines.ts'
import type { GitProcess } from './process.ts'
import { chunksOf, readSmallBody } from './small-body.ts'
import { MAX_SMALL_PACK } from './small-pack.ts'

/** One reference that a push changes: `before` is null when it is created, `after` when it is deleted. */
export interface RefUpdate {
  readonly ref: string
  readonly before: string | null
  readonly after: string | null
}

/** The commands of a push, which precede its pack. */
interface ParsedPush {
  readonly updates: readonly RefUpdate[]
  /** Whether the response is divided into channels (side-band). */
  readonly isSideband: boolean
  /** The bytes of the commands. */
  readonly bytes: Buffer
  /** The pack, when it is small, or empty when there is none; undefined: it is still in the stream. */
  readonly pack: Buffer | undefined
}

/** The commands of about 100,000 references. */
const MAX_COMMAND_BYTES = 16 * 1024 * 1024

const COMMAND = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (refs\/[^\0\n]+)(?:\0([^\n]*))?\n?$/
const SHALLOW = /^shallow [0-9a-f]{40,64}\n?$/

/**
 * Reads the commands of a push, and a small pack. The report of the response is later compared with the
 * commands.
 * @param size bytes of the body; undefined when it is not known
 * @param idleTimeout milliseconds that may pass without a byte of them
 * @throws AllotError bad_request when the commands are malformed, ask for no report, or stop arriving;
 * too_large
 */
export const readPush = async (
  body: Readable,
  { size, idleTimeout }: { readonly size: number | undefined; readonly idleTimeout: number },
): Promise<ParsedPush> => {
  const commands = parseCommands(await readSection(body, idleTimeout))
  const hasSmallPack = size !== undefined && size - commands.bytes.length <= MAX_SMALL_PACK
  const pack = hasSmallPack ? await readSmallBody(body, MAX_SMALL_PACK, idleTimeout) : undefined
  return { ...commands, pack }
}

const parseCommands = (lines: readonly PktLine[]): Omit<ParsedPush, 'pack'> => {
  const texts = lines.flatMap(({ payload }) => (payload === undefined ? [] : [payload.toString('utf8')]))
  const commands = texts.filter((text) => !SHALLOW.test(text)).map(parseCommand)
  const capabilities = commands[0]?.capabilities ?? []
  if (commands.length > 0 && !capabilities.some((name) => /^report-status(?:-v2)?$/.test(name)))
    throw new AllotError('bad_request', 'a push must request a report: report-status is missing')
  return {
    updates: commands.map(({ update }) => update),
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

const parseCommand = (text: string): { update: RefUpdate; capabilities: string[] } => {
  const [, before, after, ref, capabilities = ''] = COMMAND.exec(text) ?? []
  if (ref === undefined) throw new AllotError('bad_request', 'the push has a command that is not well-formed')
  return {
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
 * @param onFinished called after git has ended, with the updates that succeeded
 * @returns `finished` resolves after `onFinished` has settled
 */
export const holdReport = (
  child: Pick<GitProcess, 'stdout' | 'ended'>,
  request: ParsedPush,
  onFinished: (updates: readonly RefUpdate[]) => Promise<void>,
): { readonly output: Readable; readonly finished: Promise<void> } => {
  const output = new Readable({ read: () => undefined })
  const report = createReport(request.isSideband, (progress) => output.push(progress))
  const work = async () => {
    const failure = await readAll(child.stdout, report.add)
    await child.ended
    const succeeded = succeededIn(report.payload())
    await onFinished(request.updates.filter(({ ref }) => succeeded.has(ref)))
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

const succeededIn = (report: Buffer): Set<string> =>
  new Set(linesOfReport(report).flatMap((line) => (line.startsWith('ok ') ? [line.slice('ok '.length)] : [])))

/**
 * Git's words for a push beyond `receive.maxInputSize`, which the hook uses, too: the API answers 413 to
 * them.
 */
export const EXCEEDS_SIZE = 'exceeds maximum allowed size'

/**
 * Bytes of a commit, a tree or a tag: git holds each of them in memory as a whole, also when it serves them.
 */
const MAX_NON_BLOB_BYTES = 16 * 1024 * 1024

/**
 * A pre-receive hook: runs when all objects of a push are in git's quarantine and no reference has changed.
 * Invariant: the unpacked size of a push is bounded, however well it is compressed. A delta counts with its
 * own size, and the object that it makes must not exceed the limit either.
 */
const HOOK = `#!/bin/sh
# Written by Allot. It refuses a push whose objects are too large when they are unpacked.
[ -n "$GIT_QUARANTINE_PATH" ] || exit 0
unset GIT_ALTERNATE_OBJECT_DIRECTORIES
export GIT_NO_REPLACE_OBJECTS=1
{
  git cat-file --batch-all-objects --unordered \\
    --batch-check='%(objecttype) %(objectsize) %(objectsize:disk) %(deltabase)' || echo failed
} | awk '
  function refuse(why) { print why; isRefused = 1; exit 1 }
  BEGIN { push = ENVIRON["ALLOT_MAX_PUSH_SIZE"] + 0; node = ENVIRON["ALLOT_MAX_NON_BLOB_SIZE"] + 0 }
  $1 == "failed" { refuse("the objects of this push could not be checked: try again") }
  $1 != "blob" && $2 > node { refuse("a " $1 " of this push is larger than " sprintf("%.0f", node) " bytes") }
  { sum += ($4 ~ /^0+$/) ? $2 : $3 }
  push > 0 && (sum > push || $2 > push) { refuse("unpacked, this push ${EXCEEDS_SIZE} of " sprintf("%.0f", push) " bytes") }
  END { if (isRefused) exit 1 }
' >&2
`

/**
 * Limits the unpacked size of pushes, except those that small-pack.ts has checked, with bounds that are never
 * above these limits.
 */
export class PushCheck {
  readonly #folder: string
  #written: Promise<void> | undefined
  /** Environment variables that the hook reads. */
  readonly env: Readonly<Record<string, string>>

  /**
   * @param directory of the repositories, for the hook
   * @param maxPushSize in bytes; undefined: only commits, trees and tags are limited
   */
  constructor(directory: string, maxPushSize: number | undefined) {
    this.#folder = join(directory, 'hooks')
    this.env = {
      ALLOT_MAX_NON_BLOB_SIZE: String(MAX_NON_BLOB_BYTES),
      ALLOT_MAX_PUSH_SIZE: String(maxPushSize ?? 0),
    }
  }

  /** Settings that make git run the hook; writes the hook at the first call. */
  async config(): Promise<readonly string[]> {
    this.#written ??= writeHook(this.#folder).catch((error) => {
      this.#written = undefined
      throw error
    })
    await this.#written
    return [`core.hooksPath=${this.#folder}`]
  }
}

/**
 * Writes the hook by a rename: several servers may write it at the same time, while git runs the previous
 * one.
 */
const writeHook = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true })
  const unfinished = join(folder, `pre-receive.${randomUUID()}`)
  await writeFile(unfinished, HOOK, { mode: 0o755 })
  await rename(unfinished, join(folder, 'pre-receive'))
}
