import { jsonOf } from '../lib/integers.ts'

export interface PrintFlags {
  json?: boolean
}

/**
 * Replaces control characters and invisible formatting characters. Names and messages come from other users and servers,
 * and must not move the cursor, change colours or reorder text.
 */
export const escapeControl = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '�')

/** Prints a line of the result on standard output. */
export const print = (line = ''): void => void process.stdout.write(`${line}\n`)

/** Prints a line about the result on standard error, which programs that read the result don't see. */
export const printNote = (line: string): void => void process.stderr.write(`${escapeControl(line)}\n`)

export const printJson = (value: unknown): void => print(jsonOf(value, { indent: 2 }))
