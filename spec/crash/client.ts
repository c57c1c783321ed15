import type { Send } from '../support/request.ts'
import { type ClientModel, createClientModel } from './client-model.ts'
import type { AnswerBody, ClientState, Operation } from './operation.ts'
import { nextOperation } from './operations.ts'
import type { Random } from './random.ts'

export interface Server {
  ask: Send
  /** An administrator's. */
  token: string
  /** Told to die: from now on requests may stay without an answer. */
  killed: boolean
  /** What is below it fails now and then: an answer that says so leaves open whether the write was done. */
  failing?: boolean
}

/** What is known of a write that was not answered: its family before it, and after it. */
export interface Unanswered {
  operation: string
  after: ClientModel
}

/** An internal failure, a store that is down, a full disk. */
const FAILURES = [500, 503, 507]

/** One of those who write at the same time, each one write after another. */
export class Client {
  model: ClientModel
  /** The write that was under way when the server was killed, or that it could not answer for. */
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

  /** Two people and their organization, to begin with. */
  async createAccounts(server: Server): Promise<void> {
    const { name, organization } = this.model
    for (const login of [`${name}-a`, `${name}-b`]) {
      const body = { username: login, full_name: `One of ${name}` }
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

  /** Writes until the server is gone, or fails. @throws Error when it answers what it should not, or goes by itself. */
  async write(server: Server): Promise<void> {
    while (!server.killed && this.unanswered === undefined)
      await this.#write(server, nextOperation(this.model, this.#random, this.state))
  }

  async #write(server: Server, deed: Operation): Promise<void> {
    const after = structuredClone(this.model)
    deed.change(after)
    const said = `${deed.method} ${deed.path} ${JSON.stringify(deed.body ?? '').slice(0, 300)}`
    const answer = await this.#ask(server, deed).catch((cause) => {
      if (!server.killed) throw new Error(`the server is gone at ${said}`, { cause })
      this.unanswered = { operation: said, after }
    })
    if (answer === undefined) return
    if (server.failing === true && FAILURES.includes(answer.status)) {
      this.unanswered = { operation: said, after }
      return
    }
    const isExpected =
      deed.refusedWith === undefined ? answer.status < 300 : answer.status === deed.refusedWith
    if (!isExpected) throw new Error(`${said} was answered with ${answer.status} ${answer.text}`)
    if (deed.refusedWith === undefined) this.acknowledged++
    this.model = after
    deed.onAnswer?.(answer.body as AnswerBody)
  }

  #ask({ ask, token }: Server, { method, path, body, headers = {}, as }: Operation) {
    const own = as === undefined ? token : this.state.secrets.get(as)!.secret
    return ask(method, path, { token: own, headers, ...(body === undefined ? {} : { body }) })
  }
}
