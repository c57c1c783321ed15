import { Readable } from 'node:stream'
import { AllotError } from '../errors.ts'
import { createPktLines, pktLine } from './pkt-lines.ts'
import { feed, type GitProcess } from './process.ts'

/** @returns one of the objects that no reference leads to; undefined when all are reachable or do not exist */
export type FindUnreachable = (wants: ReadonlySet<string>) => Promise<string | undefined>

/** A fetch request on its way to git. */
interface CheckedRequest {
  readonly body: Readable
  /** Settles before git may answer: the object that the request must not have, undefined when there is none. */
  readonly refused: Promise<string | undefined>
}

/** Version 0 has capabilities after the name, and git takes capital digits too. */
const WANT = /^want ([0-9a-f]{40}(?:[0-9a-f]{24})?)(?![0-9a-f])/i

/**
 * Passes a fetch request on to git-upload-pack, and holds back each packet that ends a section until the objects wanted so
 * far are known to be reachable. Invariant: git acts on a `want` only after such a packet, in every version of the
 * protocol, so it never packs what no branch or tag leads to. git's own configuration cannot hold this: in version 2 it
 * gives out every object that it has (gitprotocol-v2, "wants can be anything").
 */
const checkWants = (request: Readable, find: FindUnreachable): CheckedRequest => {
  let settle: (refused: string | undefined) => void = () => undefined
  let fail: (error: unknown) => void = () => undefined
  const refused = new Promise<string | undefined>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  // Whoever reads the body hears of a failure, too.
  refused.catch(() => undefined)

  async function* checked(): AsyncGenerator<Buffer> {
    const lines = createPktLines({ marks: true })
    const wants = new Set<string>()
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const passed: Buffer[] = []
      for (const { bytes, payload } of lines.add(chunk as Buffer)) {
        const want = payload && wantIn(payload)
        if (want !== undefined) wants.add(want)
        if (wants.size > MAX_WANTS)
          throw new AllotError('too_large', 'a fetch must not ask for so many objects at once')
        if (payload === undefined && wants.size > 0) {
          const unreachable = await find(wants)
          wants.clear()
          if (unreachable !== undefined) {
            request.resume()
            return settle(unreachable)
          }
        }
        if (bytes.toString('latin1') === '0000') settle(undefined)
        passed.push(bytes)
      }
      if (passed.length > 0) yield Buffer.concat(passed)
    }
  }

  const guarded = async function* () {
    try {
      yield* checked()
      settle(undefined)
    } catch (error) {
      request.resume()
      fail(error)
      throw error
    }
  }
  return { body: Readable.from(guarded(), { objectMode: false }), refused }
}

/** Of one request; a partial clone asks for all files of a checkout at once. */
const MAX_WANTS = 250_000

const wantIn = (payload: Buffer): string | undefined => {
  const [, name] = WANT.exec(payload.toString('latin1', 0, 80)) ?? []
  return name?.toLowerCase()
}

/**
 * Gives a fetch request to git, as far as {@link checkWants} lets it through.
 * @returns the answer in place of git's, which is stopped; undefined when git answers
 * @throws AllotError bad_request, too_large, unavailable
 */
export const feedChecked = async (
  request: Readable,
  session: GitProcess,
  find: FindUnreachable,
): Promise<Buffer | undefined> => {
  const { body, refused } = checkWants(request, find)
  feed(body, session)
  try {
    const name = await Promise.race([refused, session.ended.then(() => undefined)])
    if (name === undefined) return undefined
    session.stop()
    // The words that git itself has for an object that does not exist.
    return pktLine(`ERR upload-pack: not our ref ${name}`)
  } catch (error) {
    session.stop()
    throw error
  }
}
