import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { ifMissing } from '../disk.ts'
import { bufferStart, createReachability, feedChecked } from './fetch.ts'
import { folderOf } from './folders.ts'
import { FLUSH, pktLine } from './pkt-lines.ts'
import { configuration, feed, type GitProcess } from './process.ts'
import {
  createProcesses,
  type ProcessClient,
  type Processes,
  type ProcessesOptions,
  type Program,
} from './processes.ts'
import { createPushCheck, holdReport, type PushCheck, type RefUpdate, readPush } from './push.ts'

/** A request with a body for one of git's programs. */
interface GitRequest extends ProcessClient {
  readonly body: Readable
}

/** Notified about each write to a repository, so that its size is counted. */
export interface PushListener {
  /** Called before git may change anything. @param pid of the git that will */
  started(pid: number): Promise<void>
  /** Called after git has ended, for whatever reason. The client gets a success only after this resolves. */
  finished(updates: readonly RefUpdate[]): Promise<void>
}

/** The server side of git's smart HTTP protocol (gitprotocol-http). Every returned stream is the body of a response. */
export interface Transport {
  /** Lists the references, at the start of a fetch or a push. */
  advertise(id: number, service: Exclude<Program, 'gc'>, client: ProcessClient): Promise<Readable>
  /** Answers a fetch. `completed` rejects when git was stopped before the end of its output. */
  upload(id: number, request: GitRequest): Promise<{ output: Readable; completed: Promise<void> }>
  /** Takes a push. @param request.size bytes of the body, when they are known */
  receive(
    id: number,
    request: GitRequest & { size: number | undefined },
    listener: PushListener,
  ): Promise<Readable>
  /** Runs `git gc` on a repository that needs it, unless one runs already or the server is busy. */
  collectGarbage(id: number, listener: PushListener): Promise<void>
  /** Stops all processes of a repository, before it is deleted. */
  stop(id: number): Promise<void>
  /** Stops garbage collection, and resolves when no process runs and every listener is done. */
  close(): Promise<void>
}

interface TransportOptions extends ProcessesOptions {
  /** Limit of a push in bytes, packed and unpacked; undefined: none. */
  maxPushBytes: number | undefined
}

interface Context {
  readonly options: TransportOptions
  readonly processes: Processes
  readonly pushCheck: PushCheck
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
  /** Makes `close` wait for a promise. */
  readonly track: (work: Promise<void>) => void
}

export const createTransport = (given: TransportOptions): Transport => {
  const options = { ...given, directory: resolve(given.directory) }
  const pushCheck = createPushCheck(options.directory, options.maxPushBytes)
  const processes = createProcesses(options, pushCheck.env)
  const closing = new AbortController()
  const tracked = new Set<Promise<unknown>>()
  const track = (work: Promise<void>) => {
    tracked.add(work)
    void work.finally(() => tracked.delete(work))
  }
  const context = { options, processes, pushCheck, closing: closing.signal, track }
  return {
    advertise: (id, service, client) => advertise(context, id, service, client),
    upload: (id, request) => upload(context, id, request),
    receive: (id, request, listener) => receive(context, id, request, listener),
    collectGarbage: createGarbageCollection(context),
    stop: processes.stop,
    async close() {
      closing.abort()
      const pending = () => [...processes.endings(), ...tracked]
      while (pending().length > 0) await Promise.allSettled(pending())
    },
  }
}

const UPLOAD = [
  // One fetch uses one core.
  'pack.threads=1',
  'uploadpack.allowFilter=true',
  // Partial clones ask for objects by their ids. `feedChecked` decides which of them a client gets.
  'uploadpack.allowAnySHA1InWant=true',
]

const RECEIVE = [
  'receive.fsckObjects=true',
  // Old histories contain these errors, which are harmless.
  'receive.fsck.zeroPaddedFilemode=warn',
  'receive.fsck.badTimezone=warn',
  'receive.autogc=false',
]

const advertise = async (
  { options, processes }: Context,
  id: number,
  service: Exclude<Program, 'gc'>,
  client: ProcessClient,
): Promise<Readable> => {
  const config = configuration(...(service === 'upload-pack' ? UPLOAD : RECEIVE))
  const args = [...config, service, '--stateless-rpc', '--advertise-refs', folderOf(options.directory, id)]
  const child = await processes.start(id, service, args, client)
  child.stdin.end()
  const isVersion2 = service === 'upload-pack' && /(?:^|:)version=2(?:$|:)/.test(client.protocol ?? '')
  if (!isVersion2) child.stdout.unshift(Buffer.concat([pktLine(`# service=git-${service}\n`), FLUSH]))
  return child.stdout
}

const upload = async ({ options, processes }: Context, id: number, request: GitRequest) => {
  const { git, timeouts, memory } = options
  const folder = folderOf(options.directory, id)
  const body = await bufferStart(request.body)
  const args = [...configuration(...UPLOAD), 'upload-pack', '--stateless-rpc', folder]
  const child = await processes.start(id, 'upload-pack', args, request)
  const findUnreachable = createReachability({ git, folder, timeouts, memory, signal: request.signal })
  const refusal = await feedChecked(body, child, findUnreachable)
  if (refusal === undefined) return { output: child.stdout, completed: checkCompleted(child) }
  return { output: Readable.from([refusal]), completed: child.ended.then(() => undefined) }
}

/** A stopped git has not sent everything, and the client must not take its output for a whole response. */
const checkCompleted = async ({ ended }: GitProcess): Promise<void> => {
  const { cause, code } = await ended
  if (cause !== 'itself' || code === null) throw new Error(`git was stopped: ${cause}`)
}

const receive = async (
  { options, processes, pushCheck, track }: Context,
  id: number,
  request: GitRequest & { size: number | undefined },
  listener: PushListener,
): Promise<Readable> => {
  const push = await readPush(request.body, options.timeouts.idleMs)
  // Before a large push git sends an empty one, to learn whether it is authorised.
  if (push.updates.length === 0) return Readable.from([])
  const limits = limitsOf(options.maxPushBytes, request.size)
  const config = configuration(...RECEIVE, ...limits, ...(await pushCheck.config()))
  const args = [...config, 'receive-pack', '--stateless-rpc', folderOf(options.directory, id)]
  const child = await processes.start(id, 'receive-pack', args, request)
  await notifyStart(listener, child)
  child.stdin.write(push.bytes)
  feed(request.body, child)
  const { output, finished } = holdReport(child, push, async (updates) => {
    await processes.recoverStopped(id)
    await listener.finished(updates)
  })
  track(finished)
  return output
}

/** A larger push is stored as a pack, and not unpacked into a file for each object. */
const MAX_UNPACKED_BYTES = 1024 * 1024

const limitsOf = (maxPushBytes: number | undefined, size: number | undefined): string[] => {
  // The limit counts the size of deltas, and only a pack stores deltas.
  if (maxPushBytes !== undefined) return [`receive.maxInputSize=${maxPushBytes}`, 'receive.unpackLimit=1']
  return size !== undefined && size <= MAX_UNPACKED_BYTES ? [] : ['receive.unpackLimit=1']
}

const notifyStart = (listener: PushListener, child: GitProcess): Promise<void> =>
  listener.started(child.pid).catch(async (error) => {
    child.stop()
    await child.ended
    throw error
  })

/** `git gc` moves unreachable objects into a cruft pack, and deletes them after two weeks. */
const GC = ['gc.cruftPacks=true', 'gc.autoDetach=false']

const createGarbageCollection = (context: Context): Transport['collectGarbage'] => {
  const { options, processes, closing, track } = context
  let isRunning = false
  const isAllowed = () => !isRunning && !closing.aborted && !processes.isBusy()
  return async (id, listener) => {
    const folder = folderOf(options.directory, id)
    if (!isAllowed() || !(await needsGc(folder)) || !isAllowed()) return
    isRunning = true
    const work = runGc(context, id, folder, listener).finally(() => {
      isRunning = false
    })
    track(work.catch(() => undefined))
    await work
  }
}

const runGc = async (
  { options: { timeouts }, processes, closing }: Context,
  id: number,
  folder: string,
  listener: PushListener,
): Promise<void> => {
  const args = [`--git-dir=${folder}`, ...configuration(...GC), 'gc', '--quiet']
  const client = { protocol: undefined, client: 'gc', signal: closing }
  // It writes nothing while it works, so only the deadline applies.
  const child = await processes.start(id, 'gc', args, client, { ...timeouts, idleMs: timeouts.deadlineMs })
  await notifyStart(listener, child)
  child.stdout.resume()
  await child.ended
  await processes.recoverStopped(id)
  await listener.finished([])
}

/** The limits of `git gc --auto`. Like git, estimates the number of loose objects by one of their 256 folders. */
const [MAX_PACKS, MAX_LOOSE_IN_FOLDER] = [50, 6700 / 256]

const needsGc = async (folder: string): Promise<boolean> => {
  const list = (path: string) => readdir(join(folder, 'objects', path)).catch(ifMissing<string[]>([]))
  const packs = (await list('pack')).filter((name) => name.endsWith('.pack'))
  return packs.length > MAX_PACKS || (await list('17')).length > MAX_LOOSE_IN_FOLDER
}
