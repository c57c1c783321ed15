import { Readable } from 'node:stream'
import { diskFaultOfGit } from '../../disk.ts'
import { AllotError } from '../../errors.ts'
import { type NewObject, pushBody } from '../../git/objects/pack.ts'
import { type RefUpdate, readReport } from '../../git/push.ts'
import { EXCEEDS_SIZE } from '../../git/push-check.ts'
import type { Repository } from '../../records/schema/index.ts'
import type { Pushes } from '../pushes.ts'

/** Who changes a repository, and for which client. */
export interface Pusher {
  readonly pushes: Pushes
  readonly user: { readonly id: number; readonly username: string }
  /** The account or the address whose budget of processes is used: `clientOf` (lib/clients.ts). */
  readonly client: string
}

/**
 * Changes references as a push over git does, so that the same limits hold and the size is counted before
 * this resolves.
 * @param objects that the references need, and the repository does not have
 * @throws AllotError conflict when a reference is not where it was, or below another; too_large for more than
 * `git.maxPushSize`; over_quota when the host refuses it; invalid when git refuses the objects; unavailable
 * when git stops; storage_full
 */
export const pushChanges = async (
  repository: Repository,
  { pushes, user, client }: Pusher,
  updates: readonly RefUpdate[],
  objects: readonly NewObject[] = [],
): Promise<void> => {
  const body = await pushBody(updates, objects)
  let refusal: Error | undefined
  const onRefused = (error: Error) => {
    refusal = error
  }
  const source = { ...user, via: 'http', kind: 'commit', onRefused } as const
  const output = await pushes.receive(repository, source, {
    body: Readable.from([body]),
    size: body.length,
    client,
    signal: new AbortController().signal,
    protocol: undefined,
  })
  const report = await bytesOf(output)
  if (refusal !== undefined) throw refusal
  checkReport(report)
}

const bytesOf = async (stream: Readable): Promise<Buffer> => Buffer.concat(await stream.toArray())

/** git's message for a reference below another one, or above it. */
const COLLISION = /'refs\/(?:heads|tags)\/([^ ]+)' exists; cannot create /

const checkReport = (response: Buffer): void => {
  const { unpacked, refused, output } = readReport(response)
  if (unpacked === 'unpack ok' && refused === undefined) return
  const fault = diskFaultOfGit(new Error(`${unpacked}\n${output}`))
  if (fault !== undefined) throw fault
  const lines = output.split('\n').map((line) => line.trim())
  const reason = lines.filter((line) => line !== '').join(' ')
  const isDeclined = unpacked !== 'unpack ok' || refused?.includes('declined') === true
  if (unpacked === undefined) throw new AllotError('unavailable', reason || 'git has stopped: try again')
  if (isDeclined) {
    const code = reason.includes(EXCEEDS_SIZE) ? 'too_large' : 'invalid'
    throw new AllotError(code, `git refuses the change: ${reason || unpacked}`)
  }
  const other = COLLISION.exec(reason)?.[1]
  if (other !== undefined)
    throw new AllotError(
      'conflict',
      `${other} exists, and no name of a branch or a tag begins with another and a slash`,
    )
  throw new AllotError(
    'conflict',
    'the branch or tag has changed meanwhile: read it again, and repeat the change',
  )
}
