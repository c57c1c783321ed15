/** Nothing of the user's or the machine's configuration: what git does depends on what it is asked for alone. */
export const ENVIRONMENT: Readonly<Record<string, string | undefined>> = {
  PATH: process.env.PATH,
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
}

/** Everywhere: the folders are this server's own whoever owns the disk, no hook of a template runs, and what is acknowledged is on the disk. */
const ALWAYS = [
  'safe.directory=*',
  'core.hooksPath=/dev/null',
  'core.fsync=objects,derived-metadata,reference',
  'core.fsyncMethod=batch',
  // Tidying changes what lies on the disk, so it is done where it is counted.
  'gc.auto=0',
  'maintenance.auto=false',
  // What git holds in memory at a time. Larger files are passed through, and are kept without deltas.
  'core.bigFileThreshold=16m',
  'core.deltaBaseCacheLimit=32m',
  'pack.deltaCacheSize=32m',
  'pack.windowMemory=32m',
  'pack.threads=2',
]

/** `-c key=value …`, before the name of git's command. */
export const configured = (...more: readonly string[]): string[] =>
  [...ALWAYS, ...more].flatMap((one) => ['-c', one])

const PROTOCOL = /^[\w.=:-]{1,100}$/

/** @param protocol what the client's `Git-Protocol` header says; whatever git could not mean is left out. */
export const environmentFor = (protocol: string | undefined): Record<string, string | undefined> =>
  protocol !== undefined && PROTOCOL.test(protocol) ? { ...ENVIRONMENT, GIT_PROTOCOL: protocol } : ENVIRONMENT
