#!/usr/bin/env node
import { CommanderError } from 'commander'
import { Usage } from './usage.ts'
import { createProgram } from './words/index.ts'

/** 0 done, 1 it failed (one clear line on standard error, no stack), 2 wrong usage. */
const FAILED = 1
const MISUSED = 2

const program = createProgram()

/** Whoever reads may stop when they like. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = explain(error)
}

function explain(error: unknown): number {
  // Commander has said what is wrong by now; help and version end this way too, with 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED
  process.stderr.write(`allot: ${error instanceof Error ? error.message : String(error)}\n`)
  return error instanceof Usage ? MISUSED : FAILED
}
