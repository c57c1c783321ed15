import type { Download } from './route.ts'

/** A table as a file that spreadsheets read (RFC 4180). */
export const csvOf = (
  fileName: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Download => ({
  fileName,
  type: 'text/csv;charset=utf-8',
  content: [head, ...rows].map((row) => `${row.map(csvField).join(',')}\r\n`).join(''),
})

/** A spreadsheet would run text that begins with `=`, `+`, `-` or `@` as a formula, so such text gets an apostrophe. */
const csvField = (text: string): string => {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+$/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe
}
