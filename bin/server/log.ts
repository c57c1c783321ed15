import type { Logger } from 'pino'
import type { Log } from '../../lib/http/index.ts'

type Level = 'error' | 'warn' | 'info'

/**
 * The log of a server: a line of JSON on standard error for each call, in the order of the calls. The first call loads pino,
 * since most servers have nothing to log for long.
 */
export class ServerLog implements Log {
  readonly #fields: object
  readonly #waiting: [level: Level, fields: object, message: string][] = []
  #pino: Logger | undefined

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

  #write(level: Level, fields: object, message: string): void {
    if (this.#pino !== undefined) return this.#pino[level](fields, message)
    this.#waiting.push([level, fields, message])
    if (this.#waiting.length === 1) void this.#load()
  }

  async #load(): Promise<void> {
    const { default: pino } = await import('pino')
    this.#pino = pino(pino.destination(2)).child(this.#fields)
    for (const line of this.#waiting) this.#write(...line)
  }
}
