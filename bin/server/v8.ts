import { setFlagsFromString } from 'node:v8'

/** Milliseconds in which a server that listens has answered its first requests. */
const START_MS = 1000

/**
 * Makes V8 treat the modules of the server as code that runs once, while they are loaded: it compiles nothing to machine code,
 * and does not enlarge the young generation for objects that stay. A server that answers few requests would keep 10 MiB for that.
 */
export const loadFrugally = (): void => setFlags('--no-opt', '--no-sparkplug', '--semi-space-growth-factor=1')

/** Call it when the server listens: soon after, V8 works by its own defaults. */
export const endStart = (): void => {
  setTimeout(setFlags, START_MS, '--opt', '--sparkplug', '--semi-space-growth-factor=2').unref()
}

const setFlags = (...flags: string[]): void => {
  for (const flag of flags) setFlagsFromString(flag)
}
