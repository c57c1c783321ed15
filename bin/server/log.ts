import { hostname } from 'node:os'
import { inspect } from 'node:util'
import type { Logger } from 'pino'
import type { Log } from '../../lib/http/index.ts'

/** The numbers that pino writes. */
const LEVELS = { error: 50, warn: 40, info: 30 } as const
type Level = keyof typeof LEVELS

/**
 * The log of a server: a line of JSON on standard error for each call, in the order of the calls, written
 * before the call returns. No line waits for modules to be loaded, which fails where files cannot be opened
 * any more: until pino is loaded, the lines are written without it, with the same members.
 */
export class ServerLog implements Log {
  readonly #fields: object
  #pino: Logger | undefined

  /** @param fields members of each line */
  constructor(fields: object = {}) {
    this.#fields = fields
  }

  /**
   * Loads pino, which takes a while: call it once the server listens. Never rejects: without pino the log
   * goes on as before.
   */
  async load(): Promise<void> {
    try {
      const { default: pino } = await import('pino')
      this.#pino = pino(pino.destination(2)).child(this.#fields)
    } catch (error) {
      this.warn({ err: error }, 'pino could not be loaded; the log is written without it')
    }
  }

  error(fields: object, message: string): void {
    this.#write('error', fields, message)
  }

  warn(fields: object, message: string): void {
    this.#write('warn', fields, message)
  }

  info(fields: object, message: string): void {
    this.#write('info', fields, message)
  }

  #write(level: Level, fields: object, message: string): void {
    if (this.#pino !== undefined) return this.#pino[level](fields, message)
    const origin = { time: Date.now(), pid: process.pid, hostname: hostname() }
    const line = { level: LEVELS[level], ...origin, ...this.#fields, ...fields, msg: message }
    process.stderr.write(`${JSON.stringify(line, (_name, value: unknown) => readable(value))}\n`)
  }
}

/** What JSON has no form for would be lost, or throw. */
const readable = (value: unknown): unknown => {
  if (typeof value === 'bigint') return String(value)
  if (!(value instanceof Error)) return value
  return { type: value.name, message: value.message, stack: inspect(value) }
}
