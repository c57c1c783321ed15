import type { Send } from '../support/request.ts'
import { type ClientModel, createClientModel } from './client-model.ts'
import type { AnswerBody, ClientState, Operation } from './operation.ts'
import { nextOperation } from './operations.ts'
import type { Random } from './random.ts'

export interface Server {
  ask: Send
  /** Token of an administrator. */
  token: string
  /** True from the moment of the kill: requests may then stay unanswered. */
  killed: boolean
  /**
   * True when faults are injected into the store: a 5xx answer then leaves open whether the write was done.
   */
  failing?: boolean
}

/** A write whose outcome is unknown; the client's own model is the state before it. */
export interface Unanswered {
  operation: string
  after: ClientModel
}

/** Internal error, store not available, disk full. */
const FAILURES = [500, 503, 507]

/** One of the clients that write concurrently; each sends one write at a time. */
export class Client {
  model: ClientModel
  /** The write that was in flight when the server was killed, or that failed with an injected fault. */
  unanswered: Unanswered | undefined
  acknowledged = 0
  readonly state: ClientState
  readonly #random: Random

  constructor(name: string, random: Random) {
    let last = 0
    this.model = createClientModel(name)
    this.#random = random
    this.state = { secrets: new Map(), keyIds: new Map(), next: () => ++last }
  }

  /** Creates two users and their organization. */
  async createAccounts(server: Server): Promise<void> {
    const { name, organization } = this.model
    for (const login of [`${name}-a`, `${name}-b`]) {
      const body = { username: login, full_name: `User of ${name}` }
      const change = ({ people }: ClientModel) =>
        void people.set(login, { fullName: body.full_name, visibility: 'public' })
      await this.#write(server, { method: 'POST', path: '/admin/users', body, change })
    }
    const path = `/admin/users/${name}-a/orgs`
    await this.#write(server, {
      method: 'POST',
      path,
      body: { username: organization },
      change: () => undefined,
    })
  }

  /**
   * Writes until the server is killed or fails.
   * @param onSent called when a write was sent and is not answered yet
   * @throws Error for an unexpected answer, or a server that ends by itself
   */
  async write(server: Server, onSent: () => void = () => undefined): Promise<void> {
    while (!server.killed && this.unanswered === undefined) {
      const writing = this.#write(server, nextOperation(this.model, this.#random, this.state))
      onSent()
      await writing
    }
  }

  async #write(server: Server, operation: Operation): Promise<void> {
    const after = structuredClone(this.model)
    operation.change(after)
    const description = `${operation.method} ${operation.path} ${JSON.stringify(operation.body ?? '').slice(0, 300)}`
    const answer = await this.#send(server, operation).catch((cause) => {
      if (!server.killed) throw new Error(`the server ended during ${description}`, { cause })
      this.unanswered = { operation: description, after }
    })
    if (answer === undefined) return
    if (server.failing === true && FAILURES.includes(answer.status)) {
      this.unanswered = { operation: description, after }
      return
    }
    const isExpected =
      operation.refusedWith === undefined ? answer.status < 300 : answer.status === operation.refusedWith
    if (!isExpected) throw new Error(`${description} was answered with ${answer.status} ${answer.text}`)
    if (operation.refusedWith === undefined) this.acknowledged++
    this.model = after
    operation.onAnswer?.(answer.body as AnswerBody)
  }

  #send({ ask, token }: Server, { method, path, body, headers = {}, as }: Operation) {
    const own = as === undefined ? token : this.state.secrets.get(as)!.secret
    return ask(method, path, { token: own, headers, ...(body === undefined ? {} : { body }) })
  }
}
