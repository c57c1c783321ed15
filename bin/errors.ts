import { CommanderError } from 'commander'
import { escapeControl } from './terminal/print.ts'
import { UsageError } from './usage-error.ts'

/** 0 done, 1 it failed (one clear line on standard error, no stack), 2 wrong usage. */
const FAILED = 1
const MISUSED = 2

export const exitCodeOf = (error: unknown): number => {
  // Help and version end this way too, with 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED
  return error instanceof UsageError ? MISUSED : FAILED
}

/** The line for a failure; commander has said by now what is wrong with the words. A message may quote another server. */
export const errorLine = (error: unknown): string => {
  if (error instanceof CommanderError) return ''
  const message = error instanceof Error ? error.message : String(error)
  return `allot: ${message.split('\n').map(escapeControl).join('\n')}\n`
}
