import type { TestContext } from 'node:test'
import { atEnd } from './cleanup.ts'

/**
 * Stops the timers that modules set with `setTimeout` during a test; those of others go on. Unlike the timers
 * of `node:test`, it may be used more than once in a process with clients of HTTP: there, a timer that a
 * client set in an earlier test, and clears in a later one, takes away another.
 * @param paths of the modules, or the beginnings of their paths, such as `lib/webhooks/`
 * @returns lets milliseconds pass, and calls back the timers that are due
 */
export const stopTimers = (test: TestContext, ...paths: string[]): ((milliseconds: number) => void) => {
  const { setTimeout, clearTimeout } = globalThis
  const waiting = new Map<unknown, { at: number; body: () => void }>()
  let now = 0
  const set = (body: (...args: unknown[]) => void, milliseconds = 0, ...args: unknown[]): unknown => {
    const caller = new Error().stack!
    if (!paths.some((path) => caller.includes(`/${path}`))) return setTimeout(body, milliseconds, ...args)
    const timer = { unref: () => timer, ref: () => timer, hasRef: () => false }
    waiting.set(timer, { at: now + milliseconds, body: () => body(...args) })
    return timer
  }
  const clear = (timer: unknown) => void (waiting.delete(timer) || clearTimeout(timer as NodeJS.Timeout))
  test.mock.method(globalThis, 'setTimeout', set as typeof setTimeout)
  test.mock.method(globalThis, 'clearTimeout', clear as typeof clearTimeout)
  return (milliseconds) => {
    now += milliseconds
    const due = [...waiting]
      .filter(([, { at }]) => at <= now)
      .sort(([, left], [, right]) => left.at - right.at)
    for (const [timer, { body }] of due) if (waiting.delete(timer)) body()
  }
}

/**
 * Stops `performance.now` for a module until the current file ends: by this clock, what the module does takes
 * no time.
 * @param path of the module, or the beginning of its path
 */
export const stopClockOf = (path: string): void => {
  const { now } = performance
  performance.now = () => {
    const caller = new Error().stack!.split('\n')[2]!
    return caller.includes(`/${path}`) ? 0 : now.call(performance)
  }
  atEnd(() => Object.assign(performance, { now }))
}
