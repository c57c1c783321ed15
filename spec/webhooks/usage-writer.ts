import { hookTo, type Received } from '../support/receiver.ts'
import { createSender } from '../support/request.ts'

const PATH = '/quota'
const ENTRY = '/admin/ledger/packages/usage'
const [LIMIT, OVER] = [100, 200]
const UPWARD = ['near', 'crossed']
const DOWNWARD = ['back', 'back']

/** Writes usage of alice that crosses a limit with each write, and compares it with what a webhook gets. */
export class UsageWriter {
  readonly #url: string
  readonly #token: string
  /** Writes that are stored. */
  #stored = 0

  /**
   * @param url of the receiver
   * @param token of alice, an administrator
   */
  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  /** Creates the rule and the webhook. */
  async prepare(api: string): Promise<void> {
    const rules = [{ name: 'packages', limit: LIMIT, subjects: ['size:assets:packages:all'] }]
    await this.#send(api, 'POST', '/admin/quota/groups', { name: 'small', rules })
    await this.#send(api, 'PUT', '/admin/quota/groups/small/users/alice')
    await this.#send(api, 'POST', '/user/hooks', hookTo(this.#url + PATH, 'quota'))
  }

  /** Writes until the server is gone. */
  async write(api: string): Promise<void> {
    await this.recount(api)
    for (;;) {
      const size = this.#stored % 2 === 0 ? OVER : 0
      const item = { owner: 'alice', name: 'usage', size, type: 'npm', version: '1' }
      try {
        await this.#send(api, 'PUT', ENTRY, item)
      } catch {
        return
      }
      this.#stored++
    }
  }

  /** Finds out whether a write that was not acknowledged is stored. */
  async recount(api: string): Promise<void> {
    const { body } = await createSender(api)('GET', ENTRY, { token: this.#token })
    if (((body?.size ?? 0) === OVER) !== (this.#stored % 2 === 1)) this.#stored++
  }

  /** What is lost, or came in another order. */
  faultsIn(received: readonly Received[]): string[] {
    const actions = new Map<unknown, string>()
    for (const { path, headers, body } of received)
      if (path === PATH && !actions.has(headers['x-gitea-delivery']))
        actions.set(headers['x-gitea-delivery'], body.action)
    const got = [...actions.values()]
    const expected = Array.from({ length: this.#stored }, (_, index) =>
      index % 2 === 0 ? UPWARD : DOWNWARD,
    ).flat()
    if (got.length !== expected.length) return [`${expected.length} events, ${got.length} of them sent`]
    const wrong = expected.findIndex((action, index) => got[index] !== action)
    return wrong === -1 ? [] : [`event ${wrong}: expected ${expected[wrong]}, got ${got[wrong]}`]
  }

  async #send(api: string, method: string, path: string, body?: object): Promise<void> {
    const options = { token: this.#token, ...(body === undefined ? {} : { body }) }
    const answer = await createSender(api)(method, path, options)
    if (answer.status >= 300) throw new Error(answer.text)
  }
}
