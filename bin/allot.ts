#!/usr/bin/env node
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/*
 * Loads the command line with V8's compile cache, which Node has from 22.1 on. The cache is in a folder of
 * the user's own, since the code in it is run; Node's default is in the folder for temporary files, where others can write.
 */
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown }
try {
  enableCompileCache?.(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'allot', 'compiled'))
} catch {
  // A user without a home folder has no cache.
}

await import('./main.ts')
