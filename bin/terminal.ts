import { jsonOf } from '../lib/integers.ts'

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

export const printJson = (value: unknown): void => print(jsonOf(value, { indent: 2 }))

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/**
 * Bar of `cells` characters, filled to an eighth of a character; a share above 0 fills at least one eighth.
 */
export const shareBar = (share: number, cells: number): string => {
  const eighths = Math.min(Math.max(Math.round(share * cells * 8), share > 0 ? 1 : 0), cells * 8)
  const filled = '█'.repeat(eighths >> 3) + EIGHTHS[eighths & 7]
  return filled + '░'.repeat(cells - filled.length)
}

const [RED, GREEN, RESET] = ['\u001b[31m', '\u001b[32m', '\u001b[0m']

export interface ChartRow {
  label: string
  amount: string
  /** Filled part of the bar, from 0 to 1; undefined for a row without a bar. */
  share: number | undefined
  comment: string
}

/**
 * Lines of a bar chart whose columns fit the terminal; 80 columns when the output is not a terminal.
 * @param hasLimits whether a share of 1 is a limit: a bar is red from there, and green below. Color only
 * repeats what the comment says.
 */
export const chart = (rows: readonly ChartRow[], { hasLimits = false } = {}): string[] => {
  const widthOf = (column: 'label' | 'amount' | 'comment') =>
    Math.max(...rows.map((row) => row[column].length))
  const [labels, amounts] = [widthOf('label'), widthOf('amount')]
  const columns = Math.min(process.stdout.columns ?? 80, 120)
  const cells = Math.max(8, Math.min(columns - labels - amounts - widthOf('comment') - 8, 40))
  const isColored = hasLimits && process.stdout.isTTY === true && process.stdout.hasColors()
  return rows.map(({ label, amount, share, comment }) => {
    const bar = share === undefined ? ' '.repeat(cells) : shareBar(share, cells)
    const shown = isColored && share !== undefined ? (share >= 1 ? RED : GREEN) + bar + RESET : bar
    return `  ${label.padEnd(labels)}  ${amount.padStart(amounts)}  ${shown}  ${comment}`.trimEnd()
  })
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
