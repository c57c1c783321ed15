import {
  escapeControl,
  type OnCount,
  type PrintFlags,
  print,
  printNote,
  withProgressBar,
} from '../terminal.ts'
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

/** Prints a list of the API, page by page as it arrives: as a table, or with `--json` as one array. */
export const printList = <T>(
  flags: ListFlags,
  { path, columns, empty, notFound, firstPage }: List<T>,
): Promise<void> =>
  withApi(flags, async (api) => {
    const printer = flags.json ? jsonPrinter<T>() : tablePrinter(columns, empty)
    const printPages = async (onProgress?: OnCount): Promise<string | undefined> => {
      let done = 0
      for await (const { items, total } of api.pages<T>(path, notFound)) {
        printer.add(items)
        done += items.length
        onProgress?.({ done, total })
        if (firstPage !== undefined && done < total) return firstPage(done, total)
        // The reader has closed the pipe, as `head` does.
        if (!process.stdout.writable) break
      }
      return undefined
    }
    // On a terminal the rows themselves show the progress.
    const note =
      process.stdout.isTTY === true
        ? await printPages()
        : await withProgressBar('listing', printPages, '{value} of {total}')
    printer.end()
    if (note !== undefined) printNote(note)
  })

/**
 * Prints a table of items that came in one piece.
 * @param empty printed instead of a table without rows
 */
export const printTable = <T>(items: readonly T[], columns: Columns<T>, empty: string): void => {
  const printer = tablePrinter(columns, empty)
  printer.add(items)
  printer.end()
}

interface Printer<T> {
  add(items: readonly T[]): void
  end(): void
}

/**
 * The first page decides the widths of the columns; a longer cell of a later page pushes its row to the
 * right.
 */
const tablePrinter = <T>(columns: Columns<T>, empty: string): Printer<T> => {
  let widths: number[] | undefined
  const printRow = (row: readonly string[]) =>
    print(
      row
        .map((cell, column) => cell.padEnd(widths![column]!))
        .join('  ')
        .trimEnd(),
    )
  return {
    add(items) {
      if (items.length === 0) return
      const cells = Object.values(columns)
      const rows = items.map((item) => cells.map((cell) => escapeControl(String(cell(item)))))
      if (widths === undefined) {
        const titles = Object.keys(columns)
        widths = titles.map((title, column) =>
          Math.max(title.length, ...rows.map((row) => row[column]!.length)),
        )
        printRow(titles)
      }
      rows.forEach(printRow)
    },
    end() {
      if (widths === undefined) printNote(empty)
    },
  }
}

const jsonPrinter = <T>(): Printer<T> => {
  let isFirst = true
  return {
    add(items) {
      for (const item of items) {
        // The item in an array of its own, for the indentation, without the brackets.
        const text = JSON.stringify([item], undefined, 2).slice(1, -2)
        process.stdout.write(`${isFirst ? '[' : ','}${text}`)
        isFirst = false
      }
    },
    end: () => print(isFirst ? '[]' : '\n]'),
  }
}
