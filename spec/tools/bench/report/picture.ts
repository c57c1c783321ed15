import { type Measurement, ratioOf } from './measure.ts'

const [WIDTH, ROW, LEFT, RIGHT] = [760, 24, 330, 60]
const PLOT = WIDTH - LEFT - RIGHT
const MAX = 1.25

/** Units of rows that more is better of, or whose ratio is turned round. */
const RATES: readonly Measurement['unit'][] = ['requests/s', 'transactions/s', 'µs']

/**
 * Two pictures in one: the ratio of each operation to its reference, with its goal; and what it costs at each
 * size.
 */
export const pictureOf = (measured: readonly Measurement[]): string => {
  const ratios = measured.filter(({ unit, reference }) => RATES.includes(unit) && reference !== undefined)
  const sized = measured.filter((one) => one.size !== undefined)
  const first = barsOf(ratios)
  const second = sized.length === 0 ? { svg: '', height: 0 } : costsOf(sized, first.height)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${first.height + second.height}" role="img" aria-label="Measured ratios and costs" font-family="system-ui, sans-serif" font-size="13">
<style>text{fill:#24292f}.quiet{fill:#57606a}.bar{fill:#2f6feb}.short{fill:#bf5600}.line{stroke:#57606a;fill:none}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}.line{stroke:#9198a1}}</style>
${first.svg}${second.svg}</svg>
`
}

const barsOf = (all: readonly Measurement[]) => {
  const heading = title('Speed over that of the reference (the mark is the goal)', 20)
  const rows = all.map((one, at) => bar(one, 34 + at * ROW))
  return { svg: heading + rows.join(''), height: 50 + all.length * ROW }
}

const bar = (one: Measurement, y: number): string => {
  const ratio = ratioOf(one)!
  const length = (Math.min(ratio, MAX) / MAX) * PLOT
  const [, goal] = /at least ([\d.]+)/.exec(one.goal ?? '') ?? []
  const mark = goal === undefined ? '' : vertical(LEFT + (Number(goal) / MAX) * PLOT, y, ROW - 6)
  const kind = one.isReached === false ? 'short' : 'bar'
  return `<text x="${LEFT - 8}" y="${y + 14}" text-anchor="end">${escaped(one.name)}</text>
<rect class="${kind}" x="${LEFT}" y="${y + 2}" width="${length.toFixed(1)}" height="${ROW - 10}"/>${mark}
<text x="${LEFT + length + 6}" y="${y + 14}">${ratio.toFixed(2)}</text>
`
}

/** Logarithmic in both directions: what does not grow with the store is a level line. */
const costsOf = (all: readonly Measurement[], top: number) => {
  const names = [...new Set(all.map(({ name }) => name))]
  const [sizes, costs] = [all.map(({ size }) => size!), all.map(({ value }) => value)]
  const [left, right] = [Math.log(Math.min(...sizes)), Math.log(Math.max(...sizes))]
  const [low, high] = [Math.log(Math.min(...costs) / 2), Math.log(Math.max(...costs) * 2)]
  const height = 180
  const x = (size: number) => LEFT + ((Math.log(size) - left) / (right - left || 1)) * (PLOT - 40)
  const y = (cost: number) => top + 40 + height * (1 - (Math.log(cost) - low) / (high - low))
  const lines = names.map((name) => {
    const points = all.filter((one) => one.name === name)
    const path = points.map((one) => `${x(one.size!).toFixed(1)},${y(one.value).toFixed(1)}`).join(' ')
    const last = points.at(-1)!
    const labels = points.map(
      (one) =>
        `<text x="${x(one.size!)}" y="${y(one.value) - 7}" text-anchor="middle">${one.value.toFixed(2)}</text>`,
    )
    return `<polyline class="line" points="${path}"/>${labels.join('')}
<text x="${LEFT - 8}" y="${y(points[0]!.value) + 4}" text-anchor="end">${escaped(last.name)}</text>
`
  })
  const marks = [...new Set(sizes)].map(
    (size) =>
      `<text class="quiet" x="${x(size)}" y="${top + height + 62}" text-anchor="middle">${size.toLocaleString('en')}</text>`,
  )
  const heading = title('Milliseconds of one request, by the number of records in the store', top + 16)
  return { svg: `${heading}${lines.join('')}${marks.join('')}`, height: height + 76 }
}

const title = (
  text: string,
  y: number,
): string => `<text x="8" y="${y}" font-weight="600">${escaped(text)}</text>
`

const vertical = (x: number, y: number, height: number): string =>
  `<path class="line" d="M${x.toFixed(1)} ${y}v${height}"/>`

const escaped = (text: string): string =>
  text.replaceAll('`', '').replaceAll('&', '&amp;').replaceAll('<', '&lt;')
