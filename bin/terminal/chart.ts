const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** Bar of `cells` characters, filled to an eighth of a character; a share above 0 fills at least one eighth. */
export const shareBar = (share: number, cells: number): string => {
  const eighths = Math.min(Math.max(Math.round(share * cells * 8), share > 0 ? 1 : 0), cells * 8)
  const filled = '█'.repeat(eighths >> 3) + EIGHTHS[eighths & 7]
  return filled + '░'.repeat(cells - filled.length)
}

const WARNING_SHARE = 0.8
const [RED, YELLOW, GREEN, RESET] = ['\u001b[31m', '\u001b[33m', '\u001b[32m', '\u001b[0m']

const colourOf = (share: number): string => {
  if (share >= 1) return RED
  return share >= WARNING_SHARE ? YELLOW : GREEN
}

export interface ChartRow {
  label: string
  amount: string
  /** Filled part of the bar, from 0 to 1; undefined for a row without a bar. */
  share: number | undefined
  comment: string
}

/**
 * Lines of a bar chart whose columns fit the terminal; 80 columns when the output is not a terminal.
 * @param hasWarnings whether bars become yellow and red near and over 1. Colour only repeats what the comment says.
 */
export const chart = (rows: readonly ChartRow[], { hasWarnings = false } = {}): string[] => {
  const widthOf = (column: 'label' | 'amount' | 'comment') =>
    Math.max(...rows.map((row) => row[column].length))
  const [labels, amounts] = [widthOf('label'), widthOf('amount')]
  const columns = Math.min(process.stdout.columns ?? 80, 120)
  const cells = Math.max(8, Math.min(columns - labels - amounts - widthOf('comment') - 8, 40))
  const isColoured = hasWarnings && process.stdout.isTTY === true && process.stdout.hasColors()
  return rows.map(({ label, amount, share, comment }) => {
    const bar = share === undefined ? ' '.repeat(cells) : shareBar(share, cells)
    const shown = isColoured && share !== undefined ? colourOf(share) + bar + RESET : bar
    return `  ${label.padEnd(labels)}  ${amount.padStart(amounts)}  ${shown}  ${comment}`.trimEnd()
  })
}
