#!/usr/bin/env node
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/*
 * Loads the command line with V8's compile cache, which Node has from 22.1 on. A folder of the user's own: whoever can write
 * to the cache decides what runs, and Node's default is in the folder for temporary files.
 */
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown }
try {
  enableCompileCache?.(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'allot', 'compiled'))
} catch {
  // A user without a home folder has no cache.
}

await import('./main.ts')
