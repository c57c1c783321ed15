import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { createClientBudget } from '../client-budget.ts'
import { folderOf } from './disk.ts'
import { arrived, feedChecked, unreachableIn } from './fetch.ts'
import { GC_ARGUMENTS, needsGc } from './gc.ts'
import { FLUSH, pktLine } from './pkt-lines.ts'
import { type ExitResult, feed, type GitProcess, startProcess, type Timeouts } from './process.ts'
import { createProcesses, type Program } from './processes.ts'
import { holdReport, type RefUpdate, readPush } from './push.ts'
import { createPushCheck } from './push-check.ts'
import { configured, environmentFor } from './run.ts'

/** What a client sends. */
export interface ClientStream {
  readonly body: Readable
  /** Its `Git-Protocol` header. */
  readonly protocol: string | undefined
  /** Whose share of the git programs it takes. */
  readonly client: string
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
}

type AdvertiseRequest = Pick<ClientStream, 'protocol' | 'client' | 'signal'>

/** A change on its way into a repository. */
export interface PushListener {
  /** Before git may change anything. @param pid of the git that will */
  begun(pid: number): Promise<void>
  /** When git is gone, however it ended: the client hears of no success before this resolves. */
  landed(updates: readonly RefUpdate[]): Promise<void>
}

/** git's own programs, which speak with clients over requests and answers. Every stream is git's answer. */
export interface Transport {
  /** What there is, ahead of a fetch or a push. */
  advertise(id: number, service: Exclude<Program, 'gc'>, context: AdvertiseRequest): Promise<Readable>
  /** `whole` rejects when git was stopped before it had said all. */
  upload(id: number, context: ClientStream): Promise<{ output: Readable; whole: Promise<void> }>
  /** @param exchange.size bytes of the request, where they are known ahead */
  receive(
    id: number,
    context: ClientStream & { size: number | undefined },
    landing: PushListener,
  ): Promise<Readable>
  /** Packs what lies about, where there is much of it and nothing else is being tidied. */
  collectGarbage(id: number, landing: PushListener): Promise<void>
  /** Ends what runs on a repository, such as one that is being deleted. */
  stop(id: number): Promise<void>
  /** Ends the tidying, and resolves when nothing runs and every push has landed. */
  close(): Promise<void>
}

export interface TransportOptions {
  directory: string
  git: string
  timeouts: Timeouts
  /** How many git programs there may be at once. */
  atOnce: number
  /** How many of them one client may have. */
  atOncePerClient: number
  /** Bytes of memory that each git process may take. */
  memory: number
  /** Bytes of a push, packed and unpacked; undefined: any number. */
  largestPush: number | undefined
  onError: (error: Error, fields: object) => void
}

const UPLOAD = [
  // One fetch takes one core.
  'pack.threads=1',
  'uploadpack.allowFilter=true',
  // Lets clients ask for any object by its name, as partial clones do; which of them they get, `feedChecked` decides.
  'uploadpack.allowAnySHA1InWant=true',
]

const RECEIVE = [
  'receive.fsckObjects=true',
  // Old histories hold these, and nothing reads them wrong.
  'receive.fsck.zeroPaddedFilemode=warn',
  'receive.fsck.badTimezone=warn',
  'receive.autogc=false',
]

/** A push of more bytes is kept as the pack that it is, and not taken apart into a file for each object. */
const LOOSE = 1024 * 1024

export const createTransport = (options: TransportOptions): Transport => {
  const { git, timeouts, memory, atOnce, atOncePerClient, largestPush } = options
  const directory = resolve(options.directory)
  const running = createProcesses()
  const check = createPushCheck(directory, largestPush)
  const budget = createClientBudget({
    slots: atOnce,
    slotsPerClient: atOncePerClient,
    queue: 4 * atOnce,
    queuePerClient: 4 * atOncePerClient,
    message: 'too many clients fetch or push just now: try again',
  })
  const landing = new Set<Promise<unknown>>()
  const closing = new AbortController()
  let isTidying = false

  const start = async (
    id: number,
    program: Program,
    words: string[],
    asked: AdvertiseRequest,
    time = timeouts,
  ) => {
    const folder = folderOf(directory, id)
    const env = { ...environmentFor(asked.protocol), ...check.env }
    const args = program === 'gc' ? [`--git-dir=${folder}`, ...words] : [...words, folder]
    const release = await budget.acquire(asked.client, asked.signal)
    const begun = running.begin(id, folder, program, async () => {
      await refuseAbsent(folder)
      return startProcess(args, { git, env, timeouts: time, memory, isDetached: program !== 'upload-pack' })
    })
    const session = await begun.catch((error) => {
      release()
      throw error
    })
    void session.ended.then(release)
    if (asked.signal.aborted) session.stop()
    asked.signal.addEventListener('abort', () => session.stop(), { once: true })
    void session.ended.then((ending) => tell(program, id, ending))
    return session
  }

  /** Whoever waits for the end of it all waits for this. */
  const watched = (work: Promise<void>) => {
    landing.add(work)
    void work.finally(() => landing.delete(work))
  }

  const begin = async ({ begun }: PushListener, session: GitProcess) =>
    begun(session.pid).catch(async (error) => {
      session.stop()
      await session.ended
      throw error
    })

  const tidy = async (id: number, land: PushListener) => {
    // It says nothing while it works.
    const time = { idle: timeouts.deadline, deadline: timeouts.deadline }
    const words = [...configured(...GC_ARGUMENTS), 'gc', '--quiet']
    const session = await start(
      id,
      'gc',
      words,
      { protocol: undefined, client: 'tidying', signal: closing.signal },
      time,
    )
    await begin(land, session)
    session.stdout.resume()
    await session.ended
    await running.tidied(id)
    await land.landed([])
  }

  /** What git says of a client's mistakes, it says to the client. */
  const tell = (program: Program, repository: number, { cause, stderr, code }: ExitResult) => {
    if (cause !== 'idle' && cause !== 'deadline' && stderr === '') return
    options.onError(new Error(`git ${program}: ${stderr || cause}`), { repository, code, cause })
  }

  const boundsOf = (size: number | undefined) => [
    ...(largestPush === undefined ? [] : [`receive.maxInputSize=${largestPush}`]),
    // Deltas are counted as such only in a pack.
    ...(largestPush === undefined && size !== undefined && size <= LOOSE ? [] : ['receive.unpackLimit=1']),
  ]

  return {
    async advertise(id, service, context) {
      const config = service === 'upload-pack' ? UPLOAD : RECEIVE
      const words = [...configured(...config), service, '--stateless-rpc', '--advertise-refs']
      const session = await start(id, service, words, context)
      session.stdin.end()
      const isBare = service === 'upload-pack' && /(?:^|:)version=2(?:$|:)/.test(context.protocol ?? '')
      if (!isBare) session.stdout.unshift(Buffer.concat([pktLine(`# service=git-${service}\n`), FLUSH]))
      return session.stdout
    },
    async upload(id, context) {
      const body = await arrived(context.body)
      const words = [...configured(...UPLOAD), 'upload-pack', '--stateless-rpc']
      const session = await start(id, 'upload-pack', words, context)
      const { signal } = context
      const find = unreachableIn({ git, folder: folderOf(directory, id), timeouts, memory, signal })
      const refusal = await feedChecked(body, session, find)
      if (refusal === undefined) return { output: session.stdout, whole: endedWell(session) }
      return { output: Readable.from([refusal]), whole: session.ended.then(() => undefined) }
    },
    async receive(id, context, land) {
      const request = await readPush(context.body, timeouts.idle)
      // A git that is about to send much asks so whether it may.
      if (request.updates.length === 0) return Readable.from([])
      const config = [...RECEIVE, ...boundsOf(context.size), ...(await check.config())]
      const words = [...configured(...config), 'receive-pack', '--stateless-rpc']
      const session = await start(id, 'receive-pack', words, context)
      await begin(land, session)
      session.stdin.write(request.bytes)
      feed(context.body, session)
      const { output, finished } = holdReport(session, request, async (updates) => {
        await running.tidied(id)
        await land.landed(updates)
      })
      watched(finished)
      return output
    },
    async collectGarbage(id, land) {
      if (
        isTidying ||
        closing.signal.aborted ||
        budget.running() >= atOnce ||
        !(await needsGc(folderOf(directory, id)))
      )
        return
      isTidying = true
      const work = tidy(id, land).finally(() => {
        isTidying = false
      })
      watched(work.catch(() => undefined))
      await work
    },
    stop: running.stop,
    async close() {
      closing.abort()
      for (let under = [...running.endings(), ...landing]; under.length > 0; ) {
        await Promise.allSettled(under)
        under = [...running.endings(), ...landing]
      }
    },
  }
}

const refuseAbsent = async (folder: string): Promise<void> => {
  await stat(join(folder, 'HEAD')).catch((cause) => {
    throw new Error(`the git data is not where it should be: ${folder}`, { cause })
  })
}

/** One that was stopped has not said all, and the client must not take it for that. */
const endedWell = async ({ ended }: GitProcess): Promise<void> => {
  const { cause, code } = await ended
  if (cause !== 'itself' || code === null) throw new Error(`git was stopped: ${cause}`)
}
