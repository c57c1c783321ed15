#!/usr/bin/env node
import { executionAsyncResource } from 'node:async_hooks'
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Loads the command line with V8's compile cache, which Node has from 22.1 on. The cache is in a folder of
 * the user's own, since the code in it is run; Node's default is in the folder for temporary files, where
 * others can write.
 */
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown }
try {
  enableCompileCache?.(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'allot', 'compiled'))
} catch {
  // A user without a home folder has no cache.
}

/**
 * Keeps the object of one call of process.nextTick for good. All these objects have the same shape, and while
 * V8 compiles nextTick for it, a garbage collection between two calls may find no object of it and forget it.
 * After that each call takes five times as long until the process ends, and a request has about ten of them:
 * 3 µs of its 20, on Node 20. `npm run bench -- --only reads` shows it: without this line `npm start` is
 * slower than the embedded handler.
 */
const kept: object[] = []
process.nextTick(() => kept.push(executionAsyncResource()))

/** Those of `engines` in package.json. An older Node says no more than that it lacks an export. */
const [major = 0, minor = 0] = process.version.slice(1).split('.').map(Number)
if (major > 20 || (major === 20 && minor >= 12)) await import('./main.ts')
else {
  process.stderr.write(`allot: Node.js ${process.version} is too old: install 20.12 or later\n`)
  process.exitCode = 1
}
