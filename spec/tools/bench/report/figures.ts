import { type Latency, type Measurement, ratioOf } from './measure.ts'

export const figure = (number: number) =>
  number < 10 ? number.toFixed(2) : Math.round(number).toLocaleString('en')

const latencies = ({ p50, p99, p999 }: Latency): string =>
  `p50 ${figure(p50)} ms, p99 ${figure(p99)} ms${p999 === undefined ? '' : `, p99.9 ${figure(p999)} ms`}`

const row = (measurement: Measurement): string => {
  const { name, value, unit, rate, reference, against = '', goal = '', isReached, size } = measurement
  const ratio = ratioOf(measurement)?.toFixed(2) ?? ''
  const compared = reference === undefined ? '' : `${against}: ${figure(reference)}`
  const reached = isReached === undefined ? '' : isReached ? ', reached' : ', not reached'
  const records = size === undefined ? '' : `, ${size.toLocaleString('en')} records`
  const served = rate === undefined ? '' : `, ${figure(rate)} requests/s`
  const { latency } = measurement
  const times = latency === undefined || latency.rate !== undefined ? '' : `, ${latencies(latency)}`
  return `| ${name}${records} | ${figure(value)} ${unit}${served}${times} | ${compared} | ${ratio} | ${goal}${reached} |`
}

/** In the place of latencies that would be taken for those of the server. */
const DISTURBED = 'disturbed by other processes: measure again'

const latencyRow = ({ name, latency, latencyOfReference, isDisturbed }: Measurement): string[] =>
  latency?.rate === undefined
    ? []
    : [
        `| ${name} | ${figure(latency.rate)} | ${isDisturbed ? DISTURBED : latencies(latency)} | ${latencyOfReference === undefined ? '' : latencies(latencyOfReference)} |`,
      ]

/** Medians and ratios, and after them the latencies at fixed rates. */
export const table = (all: readonly Measurement[]): string => {
  const rows = ['| what | median | held against | ratio | goal |', '|---|---|---|---|---|', ...all.map(row)]
  const steady = all.flatMap(latencyRow)
  const heading = [
    '| at half of the maximum | requests/s | latency | latency of the bare server |',
    '|---|---|---|---|',
  ]
  return (steady.length === 0 ? rows : [...rows, '', ...heading, ...steady]).join('\n')
}
