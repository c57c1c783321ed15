import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { isRefusal } from '../../postgres/faults.ts'
import type { Fleet } from './patroni.ts'

/** The observations of clients during a strike. */
export interface Outcome {
  /** Writes that were acknowledged. */
  acknowledged: number
  /** Acknowledged writes that are missing afterwards. */
  lost: number
  /** Difference between the quota and the entries, and entries that no client sent. */
  halfDone: number
  /**
   * Reads without a write that had been acknowledged before they began, and revoked tokens that were
   * accepted.
   */
  stale: number
  /** Those that {@link isRefusal} names. */
  refused: number
  /** Connections that broke without a response. */
  resets: number
  /** Any other response. */
  wrong: string[]
  /**
   * Seconds without an acknowledged write, gaps of more than a second together: of the database itself, and
   * of Allot.
   */
  databaseAway: number
  allotAway: number
}

/** Where `allot serve` listens, and the token of its administrator. */
export interface Service {
  readonly api: string
  readonly token: string
}

const [WRITERS, READERS, SIZE] = [16, 4, 7]
const PAUSE_MS = 40
const REQUEST_TIMEOUT_MS = 60_000
const PAGE = 50

/** Writers, readers and a user who revokes tokens, on an organization of their own. */
export class Load {
  readonly #service: Service
  readonly #organization: string
  readonly #sent = new Set<string>()
  readonly #acknowledged = new Set<string>()
  readonly #counts = { stale: 0, refused: 0, resets: 0 }
  readonly #wrong: string[] = []
  readonly #gaps = new Gaps()
  #isOver = false
  #clients: Promise<unknown> = Promise.resolve()

  constructor(service: Service, organization: string) {
    this.#service = service
    this.#organization = organization
  }

  async begin(): Promise<void> {
    await this.#send('POST', '/orgs', { username: this.#organization })
    await this.#send('POST', `/orgs/${this.#organization}/repos`, { name: 'demo' })
    const writers = Array.from({ length: WRITERS }, (_, name) =>
      this.#repeat((turn) => this.#write(`${name}-${turn}`)),
    )
    const readers = Array.from({ length: READERS }, () => this.#repeat(() => this.#read()))
    this.#clients = Promise.all([...writers, ...readers, this.#repeat((turn) => this.#revoke(`t${turn}`))])
  }

  /** From now on, the time without an acknowledged write is measured. */
  strike(): void {
    this.#gaps.begin()
  }

  async end(): Promise<Omit<Outcome, 'databaseAway'>> {
    this.#isOver = true
    await this.#clients
    const allotAway = this.#gaps.seconds()
    const stored = await this.#stored()
    const { body } = await this.#send('GET', `/orgs/${this.#organization}/quota`)
    const counted = used(body) / SIZE
    return {
      ...this.#counts,
      acknowledged: this.#acknowledged.size,
      lost: [...this.#acknowledged].filter((key) => !stored.has(key)).length,
      halfDone: Math.abs(counted - stored.size) + [...stored].filter((key) => !this.#sent.has(key)).length,
      wrong: this.#wrong,
      allotAway,
    }
  }

  async #repeat(step: (turn: number) => Promise<void>): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      await step(turn)
      await setTimeout(PAUSE_MS * (0.5 + Math.random()))
    }
  }

  async #write(key: string): Promise<void> {
    const item = { repository: `${this.#organization}/demo`, name: key, size: SIZE, run: 1 }
    this.#sent.add(key)
    const { status } = await this.#send('PUT', `/admin/ledger/artifacts/${this.#organization}-${key}`, item)
    if (status === 0 || status >= 300) return
    this.#acknowledged.add(key)
    this.#gaps.note()
  }

  async #read(): Promise<void> {
    const before = this.#acknowledged.size
    const { status, body } = await this.#send('GET', `/orgs/${this.#organization}/quota`)
    if (status === 200 && used(body) < before * SIZE) this.#counts.stale++
  }

  /**
   * Revokes a new token, and asks with it. A 429 refuses it too: a long strike makes more failed logins than
   * are allowed.
   */
  async #revoke(name: string): Promise<void> {
    const path = `/users/root/tokens`
    const { status, body } = await this.#send('POST', path, {
      name: `${this.#organization}-${name}`,
      scopes: ['all'],
    })
    if (status !== 201) return
    const token = (body as { sha1: string }).sha1
    const revoked = await this.#send('DELETE', `${path}/${this.#organization}-${name}`)
    if (revoked.status !== 204) return
    const late = await this.#send('GET', '/user', undefined, token)
    if (late.status === 200) this.#counts.stale++
  }

  async #stored(): Promise<Set<string>> {
    const names = new Set<string>()
    for (let page = 1; ; page++) {
      const { body } = await this.#send(
        'GET',
        `/orgs/${this.#organization}/quota/artifacts?limit=${PAGE}&page=${page}`,
      )
      const entries = body as { name: string }[]
      for (const { name } of entries) names.add(name)
      if (entries.length < PAGE) return names
    }
  }

  /** @returns the status, which is 0 when the connection broke */
  async #send(
    method: string,
    path: string,
    body?: object,
    token = this.#service.token,
  ): Promise<{ status: number; body: unknown }> {
    try {
      const reply = await fetch(this.#service.api + path, {
        method,
        headers: { Authorization: `token ${token}`, 'Content-Type': 'application/json' },
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const { status } = reply
      const text = await reply.text()
      if (isRefusal(status, reply.headers, text)) this.#counts.refused++
      else if (status >= 300 && ![401, 429].includes(status))
        this.#wrong.push(`${method} ${path}: ${status} ${text}`)
      return { status, body: text === '' ? undefined : JSON.parse(text) }
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError')
        this.#wrong.push(`${method} ${path}: no response`)
      else this.#counts.resets++
      return { status: 0, body: undefined }
    }
  }
}

const used = (body: unknown): number =>
  (body as { used: { size: { assets: { artifacts: number } } } }).used.size.assets.artifacts

/** Measures for how long nothing happens. Shorter gaps are those of a machine that does other work. */
class Gaps {
  #last = Number.POSITIVE_INFINITY
  #total = 0

  begin(): void {
    this.#last = performance.now()
  }

  note(): void {
    const gap = performance.now() - this.#last
    if (gap > MIN_GAP_MS) this.#total += gap
    if (gap >= 0) this.#last = performance.now()
  }

  seconds(): number {
    this.note()
    return this.#total / 1000
  }
}

const MIN_GAP_MS = 1000

/**
 * Writes to each server of the fleet on its own, to measure for how long the database itself takes no writes.
 */
export class Probe {
  readonly #gaps = new Gaps()
  readonly #loops: Promise<unknown>
  #isOver = false

  constructor(fleet: Fleet) {
    this.#loops = Promise.all(fleet.nodes.map(({ ports }) => this.#writeTo(ports.postgres)))
  }

  strike(): void {
    this.#gaps.begin()
  }

  /** @returns the seconds without a write */
  async end(): Promise<number> {
    this.#isOver = true
    await this.#loops
    return this.#gaps.seconds()
  }

  async #writeTo(port: number): Promise<void> {
    const connectionString = `postgres://allot@127.0.0.1:${port}/postgres`
    while (!this.#isOver) {
      const client = new pg.Client({ connectionString, connectionTimeoutMillis: 1000, query_timeout: 1000 })
      client.on('error', () => undefined)
      try {
        await client.connect()
        await client.query('CREATE TABLE IF NOT EXISTS probe (id int PRIMARY KEY, at timestamptz)')
        while (!this.#isOver) {
          await client.query('INSERT INTO probe VALUES (1, now()) ON CONFLICT (id) DO UPDATE SET at = now()')
          this.#gaps.note()
          await setTimeout(100)
        }
      } catch {
        await setTimeout(200)
      } finally {
        void client.end().catch(() => undefined)
      }
    }
  }
}
