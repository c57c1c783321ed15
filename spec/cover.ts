import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { missing } from './postgres/cluster.ts'

/**
 * The specs, with what they have run of the lines: what they cannot run without PostgreSQL is left out then.
 */
const c8 = createRequire(import.meta.url).resolve('c8/bin/c8.js')
const excluded = missing === false ? [] : ['--exclude', 'drivers/postgres/**', '--exclude', '**/*.spec.ts']
const run = ['--import', 'tsx', 'spec/run.ts', ...process.argv.slice(2)]
const child = spawn(process.execPath, [c8, ...excluded, process.execPath, ...run], { stdio: 'inherit' })
child.on('close', (code) => process.exit(code ?? 1))
