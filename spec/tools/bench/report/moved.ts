import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { figure } from './figures.ts'
import { type Measurement, ratioOf } from './measure.ts'

/** The last figure of each row, in a file that later runs compare with. */
interface Remembered {
  when: string
  value: number
  ratio?: number
}

type Memory = Record<string, Remembered>

/** In the user's cache. */
export const lastFile = (): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'allot', 'bench.json')

/** A shared machine moves by less than this from run to run, mostly. */
const MOVED = 0.1

const keyOf = ({ name, against, size }: Measurement) => [name, against, size].join(' | ')

const read = (file: string): Memory => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

/**
 * A table of the rows that have moved by more than a tenth since they were last measured, and remembers all
 * rows for the next run.
 */
export const movedSince = (file: string, measured: readonly Measurement[]): string => {
  const last = read(file)
  const known = measured.filter((one) => last[keyOf(one)] !== undefined)
  const rows = known.flatMap((one) => rowOf(one, last[keyOf(one)]!))
  remember(file, last, measured)
  if (known.length === 0) return `These are the first figures in ${file}; the next run says what has moved.`
  if (rows.length === 0) return `Nothing has moved by more than a tenth since the last run (${file}).`
  return ['| what moved | last | now | change |', '|---|---|---|---|', ...rows].join('\n')
}

/** Compares ratios where there are some, since they depend least on the machine. */
const rowOf = (one: Measurement, last: Remembered): string[] => {
  const ratio = ratioOf(one)
  const isRatio = ratio !== undefined && last.ratio !== undefined
  const [before, now] = isRatio ? [last.ratio!, ratio] : [last.value, one.value]
  const change = now / before - 1
  if (Math.abs(change) <= MOVED) return []
  const unit = isRatio ? '' : ` ${one.unit}`
  const sign = change > 0 ? '+' : ''
  const what = `${one.name}${isRatio ? ', ratio' : ''}`
  return [
    `| ${what} | ${figure(before)}${unit}, ${last.when} | ${figure(now)}${unit} | ${sign}${Math.round(change * 100)} % |`,
  ]
}

const remember = (file: string, last: Memory, measured: readonly Measurement[]): void => {
  const when = new Date().toISOString().slice(0, 10)
  const now = measured.map((one): [string, Remembered] => {
    const ratio = ratioOf(one)
    return [keyOf(one), { when, value: one.value, ...(ratio === undefined ? {} : { ratio }) }]
  })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify({ ...last, ...Object.fromEntries(now) }, null, 2)}\n`)
}
