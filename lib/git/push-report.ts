import { Readable } from 'node:stream'
import { createPktLines, FLUSH, type PktLine, pktLine } from './pkt-lines.ts'
import type { GitProcess } from './process.ts'
import type { PushRequest, RefUpdate } from './push.ts'

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
