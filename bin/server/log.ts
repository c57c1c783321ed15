import { hostname } from 'node:os'
import { inspect } from 'node:util'
import type { Log } from '../../lib/http/index.ts'

/** The numbers that pino and bunyan write, which readers of logs know. */
const LEVELS = { error: 50, warn: 40, info: 30 } as const

/**
 * The log of a server: a line of JSON on standard error for each call, in the order of the calls, written
 * before the call returns.
 */
export class ServerLog implements Log {
  readonly #fields: object
  readonly #output = process.stderr

  /** @param fields members of each line */
  constructor(fields: object = {}) {
    this.#fields = fields
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

  #write(level: keyof typeof LEVELS, fields: object, message: string): void {
    const origin = { time: Date.now(), pid: process.pid, hostname: hostname() }
    const line = { level: LEVELS[level], ...origin, ...this.#fields, ...fields, msg: message }
    this.#output.write(`${JSON.stringify(line, (_name, value: unknown) => readable(value))}\n`)
  }
}

/** What JSON has no form for would be lost, or throw. */
const readable = (value: unknown): unknown => {
  if (typeof value === 'bigint') return String(value)
  if (!(value instanceof Error)) return value
  return { type: value.name, message: value.message, stack: inspect(value) }
}
