import { Readable } from 'node:stream'
import type { SignedIn } from '../accounts/access.ts'
import type { SshKeys } from '../accounts/keys.ts'
import { clientOfAccount } from '../clients.ts'
import type { LfsTokens } from '../content/lfs-tokens.ts'
import { AllotError, existing } from '../errors.ts'
import { checkedRequests } from '../git/pkt-lines.ts'
import { FETCH_LIMIT } from '../git/transport.ts'
import { type Log, requireScopes, toFailure, watchRights } from '../http/index.ts'
import type { Repository } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { GitServices } from '../repositories/pushes.ts'
import { findForGit } from '../repositories/redirects.ts'
import { type GitRight, requirePush, requireStill } from '../repositories/write-access.ts'
import type { CommandChannel } from './channel.ts'
import { type CommandLine, parseCommand } from './command.ts'

export interface CommandServices extends GitServices {
  readonly store: Store
  readonly sshKeys: SshKeys
  /** Undefined when Git LFS is turned off. */
  readonly lfsTokens: LfsTokens | undefined
  readonly log: Log
}

/** One command that a client runs. */
interface CommandRequest {
  /** Undefined when the client asks for a shell. */
  readonly text: string | undefined
  /** Id of the key that the client signed in with. */
  readonly key: number
  /** The variable `GIT_PROTOCOL`. */
  readonly protocol: string | undefined
  /** URL of the HTTP server; undefined when it is not known. */
  readonly baseUrl: string | undefined
  readonly channel: CommandChannel
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** Count of bytes on the connection, in both directions. */
  readonly traffic: () => number
}

/** Name of a command that the server runs. */
type CommandName = 'git-upload-pack' | 'git-receive-pack' | 'git-lfs-authenticate'

/** How a command ended, for the access log and the metrics. */
export interface CommandResult {
  /** The requested command: `other` is one that the server does not run. */
  readonly command: CommandName | 'shell' | 'other'
  /** `owner/name` as the client wrote it. */
  readonly repository: string | undefined
  /** Name of the user; undefined when the key was removed meanwhile. */
  readonly user: string | undefined
  /** 0: done; 1: refused, failed, or the client left before the end. */
  readonly exitCode: number
}

interface Context extends CommandRequest {
  readonly user: SignedIn & { readonly username: string }
  readonly line: CommandLine
}

/** A repository, and the names by which it was found. */
interface Found {
  readonly repository: Repository
  readonly owner: string
  readonly name: string
}

type Handler = (context: Context) => Promise<void>

/** Runs the commands of clients that are signed in. */
export class Commands {
  readonly #services: CommandServices
  readonly #handlers: Readonly<Record<CommandName, Handler>>

  constructor(services: CommandServices) {
    this.#services = services
    this.#handlers = {
      'git-upload-pack': (context) => this.#fetch(context),
      'git-receive-pack': (context) => this.#push(context),
      'git-lfs-authenticate': (context) => this.#authenticateLfs(context),
    }
  }

  /**
   * Runs a command, and tells the client why when it is refused. The account and its rights are read for each
   * command.
   */
  async run(request: CommandRequest): Promise<CommandResult> {
    const line = request.text === undefined ? undefined : (parseCommand(request.text) ?? NO_COMMAND)
    const { owner, name } = line?.repository ?? {}
    const shown = {
      command: this.#nameOf(line),
      repository: owner === undefined ? undefined : `${owner}/${name}`,
    }
    let username: string | undefined
    try {
      const { user, title } = await this.#services.sshKeys.signIn(request.key)
      username = user.username
      if (line === undefined) await request.channel.sendText(greeting(username, title))
      else await this.#handle({ ...request, user, line })
      return { ...shown, user: username, exitCode: request.signal.aborted ? 1 : 0 }
    } catch (error) {
      this.#refuse(request, shown, error)
      return { ...shown, user: username, exitCode: 1 }
    }
  }

  #nameOf(line: CommandLine | undefined): CommandResult['command'] {
    if (line === undefined) return 'shell'
    return this.#isName(line.program) ? line.program : 'other'
  }

  #isName(program: string): program is CommandName {
    return Object.hasOwn(this.#handlers, program)
  }

  #refuse(
    { channel, signal }: CommandRequest,
    { command, repository }: Pick<CommandResult, 'command' | 'repository'>,
    error: unknown,
  ): void {
    if (signal.aborted) return
    const { message } = toFailure(error, this.#services.log, { command, repository })
    channel.note(`ERROR: ${message}\n`)
  }

  #handle(context: Context): Promise<void> {
    const { program } = context.line
    if (this.#isName(program)) return this.#handlers[program](context)
    const names = Object.keys(this.#handlers).join(', ')
    throw new AllotError('bad_request', `this server runs only ${names}`)
  }

  async #fetch(context: Context): Promise<void> {
    const { channel } = context
    const { repository } = await this.#readable(context)
    const check = this.#whileAllowed(context, repository.id, 'read')
    channel.limitInput(FETCH_LIMIT, `a fetch must not send more than ${FETCH_LIMIT} bytes`)
    const body = Readable.from(checkedRequests(channel.input, check), { objectMode: false })
    const request = { ...gitRequest(context), body }
    const { output, completed } = await this.#services.transport.serve(repository.id, request)
    await channel.send(output)
    await completed
  }

  /** Serves a push in two steps, so that a client which sends no commands occupies no process. */
  async #push(context: Context): Promise<void> {
    const { transport, pushes } = this.#services
    const { channel, user } = context
    const { repository } = await this.#writable(context)
    const check = this.#whileAllowed(context, repository.id, 'push')
    const request = gitRequest(context)
    await channel.send(await transport.advertise(repository.id, 'receive-pack', request))
    await channel.waitForInput()
    await check()
    const source = { ...user, via: 'ssh', kind: 'push' } as const
    await channel.send(await pushes.receive(repository, source, { ...request, size: undefined }))
    await channel.drain()
  }

  /**
   * Reads the key, the account and its right on the repository again every minute, and ends the command when
   * one of them is gone.
   * @returns reads them at once
   */
  #whileAllowed({ key, channel, signal }: Context, repository: number, right: GitRight): () => Promise<void> {
    const { store, sshKeys } = this.#services
    const check = async () => {
      const { user } = await sshKeys.signIn(key)
      await store.read((tx) => requireStill(tx, user, repository, right))
    }
    watchRights(check, signal, ({ message }) => channel.fail(message))
    return check
  }

  async #authenticateLfs(context: Context): Promise<void> {
    const { lfsTokens } = this.#services
    const { line, key, baseUrl, channel } = context
    const [operation] = line.rest
    if (lfsTokens === undefined) throw new AllotError('forbidden', 'Git LFS is turned off on this server')
    if (operation !== 'download' && operation !== 'upload')
      throw new AllotError('bad_request', 'git-lfs-authenticate: expected the operation download or upload')
    const found = await (operation === 'upload' ? this.#writable(context) : this.#readable(context))
    const { authorization, expires } = lfsTokens.create({ key, repository: found.repository.id, operation })
    const answer = {
      ...(baseUrl === undefined ? {} : { href: `${baseUrl}/${found.owner}/${found.name}.git/info/lfs` }),
      header: { Authorization: authorization },
      expires_at: new Date(expires * 1000).toISOString(),
    }
    await channel.sendText(`${JSON.stringify(answer)}\n`)
  }

  /**
   * @throws AllotError bad_request without a name; not_found when there is no such repository, or the user
   * may not read it
   */
  async #readable({ user, line, channel }: Context): Promise<Found> {
    if (line.repository === undefined)
      throw new AllotError('bad_request', `${line.program}: expected a repository, such as 'owner/name.git'`)
    const { owner, name } = line.repository
    const found = await findForGit(this.#services.store, user, owner, name)
    const { repository, presentName } = existing(found, `Repository not found: ${owner}/${name}`)
    if (presentName !== undefined)
      channel.note(
        `This repository is now ${presentName.owner}/${presentName.name}: change the URL of the remote.\n`,
      )
    return { repository, ...(presentName ?? line.repository) }
  }

  async #writable(context: Context): Promise<Found> {
    requireScopes(context.user, { scope: 'write:repository' })
    const found = await this.#readable(context)
    await this.#services.store.read((tx) => requirePush(tx, context.user, found.repository))
    return found
  }
}

const NO_COMMAND: CommandLine = { program: '', repository: undefined, rest: [] }

const greeting = (username: string, title: string): string =>
  `Hello ${username}! You are signed in with the key ${JSON.stringify(title)}. This server has no shell: use it with git.\n`

const gitRequest = ({ channel, user, protocol, signal, traffic }: Context) => ({
  body: channel.input,
  client: clientOfAccount(user.id),
  protocol,
  signal,
  traffic,
})
