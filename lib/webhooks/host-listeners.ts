import { checkArgument, describeName, invalid } from '../errors.ts'

type Listener = (event: never) => unknown

/**
 * The listeners that a host has added, by event. One that fails is logged, and affects neither the others nor
 * the change.
 */
export class HostListeners<Events extends object> {
  readonly #byEvent: ReadonlyMap<keyof Events, Set<Listener>>
  readonly #onError: (error: unknown, fields: object) => void

  /** @param names of all events */
  constructor(names: readonly (keyof Events & string)[], onError: (error: unknown, fields: object) => void) {
    this.#byEvent = new Map(names.map((name) => [name, new Set()]))
    this.#onError = onError
  }

  /** @throws AllotError invalid for an unknown event, or without a function */
  on<Name extends keyof Events>(event: Name, listener: (detail: Events[Name]) => void): void {
    const listeners = this.#of(event)
    checkArgument(typeof listener === 'function', 'listener', 'a function', listener)
    listeners.add(listener)
  }

  /** @throws AllotError invalid for an unknown event */
  off<Name extends keyof Events>(event: Name, listener: (detail: Events[Name]) => void): void {
    this.#of(event).delete(listener)
  }

  has(event: keyof Events): boolean {
    return this.#of(event).size > 0
  }

  /** Calls the listeners of an event, whose change is durable. */
  notify<Name extends keyof Events>(event: Name, detail: Events[Name]): void {
    for (const listener of [...this.#of(event)])
      new Promise((resolve) => resolve((listener as (detail: Events[Name]) => unknown)(detail))).catch(
        (error) => this.#onError(error, { event }),
      )
  }

  #of(event: keyof Events): Set<Listener> {
    const listeners = this.#byEvent.get(event)
    if (listeners !== undefined) return listeners
    const names = [...this.#byEvent.keys()].map((name) => JSON.stringify(name)).join(', ')
    throw invalid(`there is no event ${describeName(event)}; the events are: ${names}`)
  }
}
