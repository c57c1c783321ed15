import { dispositionOf, type OpenDownload } from '../../http/responses.ts'

/**
 * A table as a file that spreadsheets read (RFC 4180).
 * @param columns the text of each column, by its name in the first line
 */
export const csvOf = <Row>(
  fileName: string,
  columns: Readonly<Record<string, (row: Row) => string>>,
  rows: readonly Row[],
): OpenDownload => {
  const texts = Object.values(columns)
  const lines = [Object.keys(columns), ...rows.map((row) => texts.map((textOf) => textOf(row)))]
  const headers = {
    'Content-Type': 'text/csv;charset=utf-8',
    'Content-Disposition': dispositionOf({ fileName }),
    'Cache-Control': 'no-store',
  }
  const body = lines.map((line) => `${line.map(csvField).join(',')}\r\n`).join('')
  return async () => ({ status: 200, headers, body })
}

/**
 * A spreadsheet would run text that begins with `=`, `+`, `-` or `@` as a formula, so such text gets an
 * apostrophe.
 */
const csvField = (text: string): string => {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+$/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe
}
