/** Columns of the terminal; what is piped on has those of an old one. */
const columns = (): number => Math.min(process.stdout.columns ?? 80, 120)

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar of so many cells, drawn to an eighth of one; what is there at all is seen. */
export const shareBar = (share: number, cells: number): string => {
  const eighths = Math.min(Math.max(Math.round(share * cells * 8), share > 0 ? 1 : 0), cells * 8)
  const drawn = '█'.repeat(eighths >> 3) + EIGHTHS[eighths & 7]
  return drawn + '░'.repeat(cells - drawn.length)
}

const WARNING = 0.8
const [RED, YELLOW, GREEN, RESET] = ['\u001b[31m', '\u001b[33m', '\u001b[32m', '\u001b[0m']

/** Colour only repeats what the words beside it say; NO_COLOR and pipes have none. */
const coloured = (bar: string, share: number): string => {
  if (process.stdout.isTTY !== true || !process.stdout.hasColors()) return bar
  return (share >= 1 ? RED : share >= WARNING ? YELLOW : GREEN) + bar + RESET
}

export interface ChartRow {
  label: string
  amount: string
  /** Of what the bar is full at; undefined has no bar. */
  share: number | undefined
  words: string
}

/** Labels, amounts, bars and words in columns that fit the terminal. */
export const chart = (measures: readonly ChartRow[], { warns = false } = {}): string[] => {
  const widest = (of: (measure: ChartRow) => string) => Math.max(...measures.map((one) => of(one).length))
  const [labels, amounts] = [widest(({ label }) => label), widest(({ amount }) => amount)]
  const left = columns() - 2 - labels - 2 - amounts - 2 - 2 - widest(({ words }) => words)
  const cells = Math.max(8, Math.min(left, 40))
  return measures.map(({ label, amount, share, words }) => {
    const bar = share === undefined ? ' '.repeat(cells) : shareBar(share, cells)
    const shown = warns && share !== undefined ? coloured(bar, share) : bar
    return `  ${label.padEnd(labels)}  ${amount.padStart(amounts)}  ${shown}  ${words}`.trimEnd()
  })
}
