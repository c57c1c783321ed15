import { escapeControl, type PrintFlags, print, printJson, printNote } from '../terminal.ts'
import { type ApiFlags, withApi } from './api.ts'

export interface ListFlags extends ApiFlags, PrintFlags {}

/** Text of each column, by its title. */
export type Columns<T> = Record<string, (item: T) => string | number>

interface List<T> {
  path: string
  columns: Columns<T>
  /** Printed instead of a table without rows. */
  empty: string
  /** Message of the error when the server answers 404. */
  notFound?: string
  /** Prints the first page only, and then this note when there are more items. */
  firstPage?: (printed: number, total: number) => string
}

/** Prints a list of the API: as a table, or with `--json` as an array. */
export const printList = <T>(
  flags: ListFlags,
  { path, columns, empty, notFound, firstPage }: List<T>,
): Promise<void> =>
  withApi(flags, async (api) => {
    const found: T[] = []
    let note: string | undefined
    for await (const { items, total } of api.pages<T>(path, notFound)) {
      found.push(...items)
      if (firstPage === undefined || total === undefined || found.length >= total) continue
      note = firstPage(found.length, total)
      break
    }
    if (flags.json) printJson(found)
    else printTable(found, columns, empty)
    if (note !== undefined) printNote(note)
  })

/** @param empty printed instead of a table without rows */
export const printTable = <T>(items: readonly T[], columns: Columns<T>, empty: string): void => {
  if (items.length === 0) return printNote(empty)
  const cells = Object.values(columns)
  const rows = items.map((item) => cells.map((cell) => escapeControl(String(cell(item)))))
  rows.unshift(Object.keys(columns))
  const widths = cells.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  for (const row of rows)
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
}
