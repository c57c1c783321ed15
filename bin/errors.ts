import { CommanderError } from 'commander'
import { REASON_IN_LOG } from '../lib/disk.ts'
import { escapeLines } from './terminal.ts'

/**
 * The command line itself is wrong, so the exit code is 2. Every other error means that the command failed:
 * 1.
 */
export class UsageError extends Error {}

export const exitCodeOf = (error: unknown): number => {
  // Commander also throws after --help and --version, with exit code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof UsageError ? 2 : 1
}

/** The message without a stack; empty for errors of commander, which it has already printed. */
export const errorLine = (error: unknown): string => {
  if (error instanceof CommanderError) return ''
  const message = error instanceof Error ? withReason(error) : String(error)
  // The message may quote another server.
  return `allot: ${escapeLines(message)}\n`
}

/** The message, with the reason where that is left to the log of a server, which a command does not have. */
export const withReason = ({ message, cause }: Error): string =>
  message.endsWith(REASON_IN_LOG) && cause instanceof Error
    ? `${message.slice(0, -REASON_IN_LOG.length)}: ${cause.message}`
    : message

const READ_FAULTS: Partial<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
}

/** Why a file cannot be created or written: the message of the system without code, operation and path. */
export const writeFault = ({ message }: Error): string => message.replace(/^E[A-Z\d]+: ([^,]+).*/s, '$1')

/** The place of a fault in a text, as the parser of TOML reports it. */
interface FaultPlace {
  line?: number
  column?: number
}

/** Why a file cannot be read or parsed, in one line. */
export const readFault = (error: unknown): string => {
  const { code = '', message, line, column } = error as NodeJS.ErrnoException & FaultPlace
  const place = line === undefined ? '' : ` (line ${line}, column ${column})`
  return READ_FAULTS[code] ?? message.split('\n')[0]! + place
}
