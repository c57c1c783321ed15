import { createHash } from 'node:crypto'
import { CURRENT_LAYOUT } from '../../lib/records/schema/index.ts'

/** An export of any lines, with a matching first and last line. */
export const sealed = (lines: readonly (object | string)[], first: object = {}): Buffer => {
  const begin = {
    format: 'allot-export',
    version: 1,
    layout: CURRENT_LAYOUT,
    time: '2026-11-21T04:09:00Z',
    ...first,
  }
  const texts = [begin, ...lines].map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  const body = texts.map((text) => `${text}\n`).join('')
  const sha256 = createHash('sha256').update(body).digest('hex')
  return Buffer.from(`${body}${JSON.stringify({ end: true, lines: lines.length, missing: 0, sha256 })}\n`)
}
