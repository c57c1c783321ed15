import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

export interface PrintFlags {
  json?: boolean
}

/**
 * Replaces control characters and invisible formatting characters. Names and messages come from other users
 * and servers, and must not move the cursor, change colors or reorder text.
 */
export const escapeControl = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '�')

/** The same for a text of several lines. */
export const escapeLines = (text: string): string => text.split('\n').map(escapeControl).join('\n')

/** Prints a line of the result on standard output. */
export const print = (line = ''): void => void process.stdout.write(`${line}\n`)

/** Prints a line about the result on standard error, which programs that read the result don't see. */
export const printNote = (line: string): void => void process.stderr.write(`${escapeControl(line)}\n`)

export const printJson = (value: unknown): void => print(JSON.stringify(value, undefined, 2))

/**
 * Reads a line of standard input, which a terminal does not show.
 * @param label what a person is asked for
 * @throws Error at the end of the input
 */
export const readSecret = async (label: string): Promise<string> => {
  const { stdin, stderr } = process
  const isTerminal = stdin.isTTY === true
  const hidden = new Writable({ write: (_text, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: hidden, terminal: isTerminal })
  // From here on, the terminal does not show what is typed.
  if (isTerminal) stderr.write(`${label}: `)
  try {
    for await (const line of lines) return line
    throw new Error(`${label.toLowerCase()}: standard input has none`)
  } finally {
    lines.close()
    if (isTerminal) stderr.write('\n')
  }
}

export type OnCount = (progress: { done: number; total: number }) => void

/**
 * Runs a function and shows its progress on standard error when that is a terminal.
 * @param label such as `exporting`
 * @param format the measure that follows the label, with the placeholders of cli-progress
 */
export const withProgressBar = async <T>(
  label: string,
  body: (onProgress: OnCount) => Promise<T>,
  format = '{bar} {percentage} % of about {total}',
): Promise<T> => {
  if (process.stderr.isTTY !== true) return body(() => undefined)
  const { SingleBar } = await import('cli-progress')
  const bar = new SingleBar({
    format: `${label} ${format}, {duration_formatted}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
  })
  bar.start(1, 0)
  try {
    return await body(({ done, total }) => {
      bar.setTotal(total)
      bar.update(done)
    })
  } finally {
    bar.stop()
  }
}
