/**
 * A fetch may only ask for objects that a reference reaches. git's own configuration cannot enforce that: in
 * version 2 of the protocol git-upload-pack sends every object that it has (gitprotocol-v2, "wants can be
 * anything"). So each `want` of a request is checked before git reads the packet that makes it act. The API
 * does read unreachable objects by id: see "Git" in SECURITY.md.
 */
import { Readable } from 'node:stream'
import { deferred } from '../deferred.ts'
import { AllotError } from '../errors.ts'
import { createPktLineParser, type PktLine, pktLine } from './pkt-lines.ts'
import { feed, type GitProcess } from './process.ts'
import type { FindUnreachable } from './reachability.ts'
import { readSmallBody } from './small-body.ts'

/** The size of most fetch requests. */
const MAX_BUFFERED = 64 * 1024

/**
 * Reads a body to its end, or until the buffer is full. Invariant: a client that sends headers and no body
 * occupies no process that others wait for.
 * @returns a stream of the whole body
 */
export const bufferStart = async (body: Readable, idleTimeout: number): Promise<Readable> => {
  const whole = await readSmallBody(body, MAX_BUFFERED, idleTimeout)
  return whole === undefined ? body : Readable.from([whole])
}

/**
 * Pipes a fetch request to git, and stops git when the request asks for an unreachable object.
 * @returns the response in place of git's; undefined when git responds
 * @throws AllotError bad_request, too_large, unavailable
 */
export const feedChecked = async (
  request: Readable,
  child: GitProcess,
  findUnreachable: FindUnreachable,
): Promise<Buffer | undefined> => {
  const refused = deferred<string | undefined>()
  // The body fails with the same error.
  refused.promise.catch(() => undefined)
  feed(checkedBody(request, findUnreachable, refused.resolve, refused.reject), child)
  try {
    const id = await Promise.race([refused.promise, child.ended.then(() => undefined)])
    if (id === undefined) return undefined
    child.stop()
    return notOurRef(id)
  } catch (error) {
    child.stop()
    throw error
  }
}

/**
 * Feeds the requests of a connection that stays open, as over SSH, to git, each checked as by
 * {@link feedChecked}.
 * @returns settles when git has ended, with what the client gets after git's output, if anything
 * @throws AllotError bad_request, too_large, unavailable
 */
export const feedConnection = async (
  requests: Readable,
  child: GitProcess,
  findUnreachable: FindUnreachable,
): Promise<Buffer | undefined> => {
  let refused: string | undefined
  let failure: unknown
  const refuse = (id: string | undefined) => {
    refused ??= id
    if (id !== undefined) child.stop()
  }
  const fail = (error: unknown) => {
    failure = error
  }
  feed(checkedBody(requests, findUnreachable, refuse, fail), child)
  await child.ended
  if (failure !== undefined) throw failure
  return refused === undefined ? undefined : notOurRef(refused)
}

/** git's own message for an object that does not exist. */
const notOurRef = (id: string): Buffer => pktLine(`ERR upload-pack: not our ref ${id}`)

/**
 * The part of a request that git may read. Holds back each packet that ends a section until the wants so far
 * are checked. Invariant: in every version of the protocol git acts on a want only after such a packet.
 * @param settle called with the unreachable object that a section asks for; with undefined before git may
 * respond to a section
 * @param fail called with the error that the body ends with
 */
const checkedBody = (
  request: Readable,
  findUnreachable: FindUnreachable,
  settle: (refused: string | undefined) => void,
  fail: (error: unknown) => void,
): Readable => {
  async function* checked(): AsyncGenerator<Buffer> {
    try {
      yield* checkedPackets(request, createWantCheck(findUnreachable), settle)
      settle(undefined)
    } catch (error) {
      request.resume()
      fail(error)
      throw error
    }
  }
  return Readable.from(checked(), { objectMode: false })
}

/** The packets that git may read. Ends at the first want of an unreachable object. */
async function* checkedPackets(
  request: Readable,
  check: CheckPacket,
  settle: (refused: string | undefined) => void,
): AsyncGenerator<Buffer> {
  const parser = createPktLineParser({ hasDelimiters: true })
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const passed: Buffer[] = []
    for (const line of parser.add(chunk as Buffer)) {
      const unreachable = await check(line)
      if (unreachable !== undefined) {
        request.resume()
        return settle(unreachable)
      }
      if (line.bytes.toString('latin1') === '0000') settle(undefined)
      passed.push(line.bytes)
    }
    if (passed.length > 0) yield Buffer.concat(passed)
  }
}

/** Objects that one request may ask for. A partial clone asks for all files of a checkout at once. */
const MAX_WANTS = 250_000

/** Version 0 appends capabilities to the id. git also takes upper-case digits. */
const WANT = /^want ([0-9a-f]{40}(?:[0-9a-f]{24})?)(?![0-9a-f])/i

/** @returns an unreachable object, when the packet ends a section that asks for one */
type CheckPacket = (line: PktLine) => Promise<string | undefined>

/** Collects the wants of a section, and checks them at its end. */
const createWantCheck = (findUnreachable: FindUnreachable): CheckPacket => {
  const wants = new Set<string>()
  return async ({ payload }) => {
    const [, id] = WANT.exec(payload?.toString('latin1', 0, 80) ?? '') ?? []
    if (id !== undefined) wants.add(id.toLowerCase())
    if (wants.size > MAX_WANTS)
      throw new AllotError('too_large', `a fetch must not ask for more than ${MAX_WANTS} objects at once`)
    if (payload !== undefined || wants.size === 0) return undefined
    const unreachable = await findUnreachable(wants)
    wants.clear()
    return unreachable
  }
}
