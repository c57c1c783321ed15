import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { folderOf } from './folders.ts'
import { checkedObjects } from './fsck.ts'
import { type CleanUpListeners, Maintenance, type MaintenanceListener } from './maintenance.ts'
import { announce, configuration, feed, type WriteListener } from './process.ts'
import { completionOf, GitProcesses, type ProcessClient, type ProcessesOptions } from './processes.ts'
import { holdReport, type RefUpdate, readPush } from './push.ts'
import { answerHook, PushCheck, type PushSize } from './push-check.ts'
import { readSmallBody } from './small-body.ts'

/** A request with a body for one of git's programs. */
interface GitRequest extends ProcessClient {
  readonly body: Readable
}

/** A push, from its first command on. */
export interface PushRequest extends GitRequest {
  /** Bytes of the body, when they are known. */
  readonly size: number | undefined
}

/** Notified about each write to a repository, so that its size is counted. */
export interface PushListener extends WriteListener {
  /**
   * Called before git is started: an error refuses the push.
   * @param signal aborted when the client disconnects
   */
  ready(signal: AbortSignal): Promise<void>
  /**
   * Called before git changes anything: an error refuses the push.
   * @param updates that a push asks for
   */
  started(pid: number, updates?: readonly RefUpdate[]): Promise<void>
  /**
   * Called when all objects are checked, and no reference has changed; when absent, nobody is asked.
   * @throws Error that refuses the push, with a sentence for the person
   */
  readonly storing?: ((updates: readonly RefUpdate[], size: PushSize) => Promise<void>) | undefined
  /**
   * Called after git has ended, for whatever reason. The client gets a success only after this resolves.
   * @param end.isReported false when git was stopped while it may have changed some of the updates
   * @param end.isCleaned false when some of what a stopped git left is not removed: the entry must stay
   */
  finished(
    updates: readonly RefUpdate[],
    end: { readonly isReported: boolean; readonly isCleaned: boolean },
  ): Promise<void>
}

interface TransportOptions extends ProcessesOptions {
  /** Limit of a push in bytes, packed and unpacked; undefined: none. */
  readonly maxPushSize?: number | undefined
  /** Called when git has stored a push without its hook, as when that was removed after it was looked for. */
  readonly onUnchecked: (fields: object) => void
}

const UPLOAD = [
  // One fetch uses one core.
  'pack.threads=1',
  'uploadpack.allowFilter=true',
  // Partial clones ask for objects by their ids. In version 2 of the protocol, git allows any id anyway.
  'uploadpack.allowAnySHA1InWant=true',
  // The name of a sparse filter may be an abbreviated id, and the answer tells whether such an object exists.
  'uploadpackfilter.sparse:oid.allow=false',
]

const RECEIVE = [
  // As git does by default: a forced push may replace a branch, and none may delete the default branch.
  'receive.denyNonFastForwards=false',
  'receive.denyDeleteCurrent=refuse',
  ...checkedObjects('receive'),
  'receive.autogc=false',
]

/** Bytes that a client may send for a fetch: the wants and haves of a fetch of a million objects. */
export const FETCH_LIMIT = 64 * 1024 * 1024

/** The size of most fetch requests. */
const MAX_BUFFERED = 64 * 1024

/**
 * The server side of git's protocol, over HTTP (gitprotocol-http) and SSH. Every returned stream is what the
 * client gets.
 */
export class Transport {
  readonly #options: TransportOptions
  readonly #processes: GitProcesses
  readonly #pushCheck: PushCheck
  /** Aborted when the server closes. */
  readonly #closing = new AbortController()
  /** Work that `close` waits for. */
  readonly #pending = new Set<Promise<unknown>>()
  readonly #maintenance: Maintenance

  constructor(options: TransportOptions) {
    this.#options = { ...options, directory: resolve(options.directory) }
    this.#pushCheck = new PushCheck(this.#options.directory, options.maxPushSize)
    this.#processes = new GitProcesses(this.#options, this.#pushCheck.env)
    const { directory } = this.#options
    const shared = { directory, processes: this.#processes, limits: options }
    this.#maintenance = new Maintenance({ ...shared, closing: this.#closing.signal })
  }

  /** Lists the references, at the start of a fetch or a push. */
  async advertise(
    id: number,
    service: 'upload-pack' | 'receive-pack',
    client: ProcessClient,
  ): Promise<Readable> {
    const folder = this.#folderOf(id)
    const isPush = service === 'receive-pack'
    const config = configuration(...(isPush ? RECEIVE : UPLOAD))
    const args = [...config, service, '--stateless-rpc', '--advertise-refs', folder]
    // Whichever service lists them, it changes nothing.
    const child = await this.#processes.start(
      id,
      isPush ? 'receive-pack --advertise-refs' : service,
      args,
      client,
    )
    child.stdin.end()
    return child.stdout
  }

  /** Answers a fetch. `completed` rejects when git was stopped before the end of its output. */
  async upload(id: number, request: GitRequest): Promise<{ output: Readable; completed: Promise<void> }> {
    // A client that sends headers and no body must not occupy a process that others wait for.
    const whole = await readSmallBody(request.body, MAX_BUFFERED, this.#options.idleTimeout)
    const args = [...configuration(...UPLOAD), 'upload-pack', '--stateless-rpc', this.#folderOf(id)]
    const child = await this.#processes.start(id, 'upload-pack', args, request)
    if (whole === undefined) feed(request.body, child)
    else child.stdin.end(whole)
    return { output: child.stdout, completed: completionOf(child) }
  }

  /**
   * Serves a fetch on a connection that stays open, as over SSH: lists the references, and answers each
   * request. `completed` rejects when git was stopped before the end of its output, and with the error of a
   * request that fails.
   */
  async serve(id: number, request: GitRequest): Promise<{ output: Readable; completed: Promise<void> }> {
    const { body } = request
    const args = [...configuration(...UPLOAD), 'upload-pack', this.#folderOf(id)]
    const child = await this.#processes.start(id, 'upload-pack', args, request)
    feed(body, child)
    const completed = completionOf(child).catch((error) => Promise.reject(body.errored ?? error))
    // The reader of the output may have left.
    completed.catch(() => undefined)
    return { output: child.stdout, completed }
  }

  /** Takes a push. */
  async receive(id: number, request: PushRequest, listener: PushListener): Promise<Readable> {
    const { idleTimeout, maxPushSize } = this.#options
    const push = await readPush(request.body, idleTimeout)
    // Before a large push git sends an empty one, to learn whether it is authorized.
    if (push.isEmpty) return Readable.from([])
    await listener.ready(request.signal)
    const limits = limitsOf(maxPushSize, request.size)
    const config = configuration(...RECEIVE, ...limits, ...(await this.#pushCheck.config()))
    const args = [...config, 'receive-pack', '--stateless-rpc', this.#folderOf(id)]
    const child = await this.#processes.start(id, 'receive-pack', args, { ...request, hasChannel: true })
    // The hook is not asked about deletions alone.
    let mayChange = push.updates.every(({ after }) => after === null)
    answerHook(child.channel!, maxPushSize, {
      store: async (size) => {
        await listener.storing?.(push.updates, size)
        mayChange = true
      },
      onError: (error) => this.#options.onError(error, { repository: id }),
    })
    await announce(child, { started: (pid) => listener.started(pid, push.updates) })
    child.stdin.write(push.bytes)
    feed(request.body, child)
    const { output, finished } = holdReport(child, push, async (reported) => {
      if (reported?.length && !mayChange) this.#options.onUnchecked({ repository: id })
      // A client that has pushed again meanwhile may have made the changes of a push that was stopped early.
      const updates = reported ?? (mayChange ? push.updates : [])
      const isCleaned = await this.#processes.isCleaned(child)
      await listener.finished(updates, { isReported: reported !== undefined, isCleaned })
    })
    this.#track(finished)
    return output
  }

  /**
   * Maintains a repository in the background.
   * @param size bytes of the repository
   */
  async maintain(id: number, size: number, listener: MaintenanceListener): Promise<void> {
    const work = this.#maintenance.run(id, size, listener)
    this.#track(work.catch(() => undefined))
    await work
  }

  /** See {@link Maintenance.cleanUp}. */
  async cleanUp(id: number, client: string, listeners: CleanUpListeners): Promise<boolean> {
    const work = this.#maintenance.cleanUp(id, client, listeners)
    this.#track(work.catch(() => undefined))
    return work
  }

  /** Whether there is time for maintenance. */
  isIdle(): boolean {
    return this.#maintenance.mayRun()
  }

  /** Stops all processes of a repository, before it is deleted. */
  stop(id: number): Promise<void> {
    return this.#processes.stop(id)
  }

  /** Stops maintenance, and resolves when no process runs and every listener is done. */
  async close(): Promise<void> {
    this.#closing.abort()
    const pending = () => [...this.#processes.endings(), ...this.#pending]
    while (pending().length > 0) await Promise.allSettled(pending())
  }

  #folderOf(id: number): string {
    return folderOf(this.#options.directory, id)
  }

  #track(work: Promise<unknown>): void {
    this.#pending.add(work)
    void work.finally(() => this.#pending.delete(work))
  }
}

/** A larger push is stored as a pack, and not unpacked into a file for each object. */
const MAX_UNPACKED_BYTES = 1024 * 1024

const limitsOf = (maxPushSize: number | undefined, size: number | undefined): string[] => {
  // The limit counts the size of deltas, and only a pack stores deltas.
  if (maxPushSize !== undefined) return [`receive.maxInputSize=${maxPushSize}`, 'receive.unpackLimit=1']
  return size !== undefined && size <= MAX_UNPACKED_BYTES ? [] : ['receive.unpackLimit=1']
}
