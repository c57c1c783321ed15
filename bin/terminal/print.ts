import { jsonOf } from '../../lib/integers.ts'
import type { Page } from '../client/api-client.ts'
import { createProgressBar, withProgressBar } from './progress.ts'

export interface PrintFlags {
  json?: boolean
}

/** What others have typed must not move the cursor, colour the screen or turn the words around. */
export const escapeControl = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '�')

export const print = (line = ''): void => void process.stdout.write(`${line}\n`)

/** What is told beside the result: a program that reads that does not see it. */
export const printNote = (line: string): void => void process.stderr.write(`${escapeControl(line)}\n`)

export const printJson = (value: unknown): void => print(jsonOf(value, { indent: 2 }))

export interface Column<T> {
  title: string
  cell: (item: T) => string | number
}

type Row = readonly string[]

const rowOf = <T>(columns: readonly Column<T>[], item: T): Row =>
  columns.map(({ cell }) => {
    const value = cell(item)
    return typeof value === 'number' ? String(value) : escapeControl(value)
  })

const widthsOf = (rows: readonly Row[]): number[] =>
  rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)))

/** The last column is as wide as it likes. */
const lineOf = (row: Row, widths: readonly number[]): string =>
  row
    .map((cell, at) => cell.padEnd(widths[at]!))
    .join('  ')
    .trimEnd()

export const printTable = <T>(columns: readonly Column<T>[], items: readonly T[]): void => {
  const rows = [columns.map(({ title }) => title), ...items.map((item) => rowOf(columns, item))]
  const widths = widthsOf(rows)
  for (const row of rows) print(lineOf(row, widths))
}

/** A list of any length, printed as its pages come: what is wider than the first page has its own way. */
export const printPages = async <T>(
  pages: AsyncIterable<Page<T>>,
  columns: readonly Column<T>[],
  { json = false }: PrintFlags,
  none: string,
): Promise<void> => {
  const show = json ? jsonPrinter<T>() : tablePrinter(columns, none)
  const isWatched = process.stdout.isTTY === true
  // Where the lines themselves are seen to come, a bar would be in their way.
  await withProgressBar(
    isWatched ? unseen : createProgressBar('listing', '{value} of {total}'),
    async (told) => {
      let done = 0
      for await (const { items, total } of pages) {
        show.items(items)
        done += items.length
        told({ done, total })
        // Such as `head`, which has seen enough.
        if (!process.stdout.writable) return
      }
    },
  )
  show.end()
}

const unseen = Promise.resolve({ onProgress: () => undefined, stop: () => undefined })

const tablePrinter = <T>(columns: readonly Column<T>[], none: string) => {
  let widths: number[] | undefined
  return {
    items(items: readonly T[]) {
      if (items.length === 0) return
      const rows = items.map((item) => rowOf(columns, item))
      if (widths === undefined) {
        const titles = columns.map(({ title }) => title)
        widths = widthsOf([titles, ...rows])
        print(lineOf(titles, widths))
      }
      for (const row of rows) print(lineOf(row, widths))
    },
    end: () => widths ?? printNote(none),
  }
}

const jsonPrinter = <T>() => {
  let isFirst = true
  return {
    items(items: readonly T[]) {
      for (const item of items) {
        // Without the brackets of its own list.
        const text = jsonOf([item], { indent: 2 }).slice(1, -2)
        process.stdout.write(`${isFirst ? '[' : ','}${text}`)
        isFirst = false
      }
    },
    end: () => print(isFirst ? '[]' : '\n]'),
  }
}
