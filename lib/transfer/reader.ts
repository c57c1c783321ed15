import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { invalid } from '../errors.ts'
import { FirstLine, FORMAT, LastLine, VERSION } from './format.ts'
import { lineSplitter } from './line-writer.ts'

/** A line between the first and the last, with its number in the file. */
export interface Line {
  number: number
  text: Buffer
}

export interface ExportReader {
  /** The lines that are known by this chunk not to be the last one. @throws AllotError invalid naming the line. */
  push(chunk: Uint8Array): Line[]
  /** To be called after the last chunk. @throws AllotError invalid when the file is not whole, or not as it was written. */
  end(): LastLine
}

/**
 * Reads an export as it comes; what was read is to be trusted when the end has been.
 * @param accept looks at the first line before anything else is read
 */
export const exportReader = (accept: (first: FirstLine) => void = () => undefined): ExportReader => {
  const splitter = lineSplitter()
  const hash = createHash('sha256')
  let number = 0
  let held: Line | undefined

  /** A line is known not to be the last one when another follows it. */
  const advance = (text: Buffer): Line | undefined => {
    number++
    if (number === 1) accept(checkedFirst(text))
    const before = held
    held = { number, text }
    if (before !== undefined) hash.update(before.text).update('\n')
    return before === undefined || before.number === 1 ? undefined : before
  }

  return {
    push: (chunk) =>
      split(splitter.push, chunk, number).flatMap((text) => {
        const line = advance(text)
        return line === undefined ? [] : [line]
      }),
    end() {
      if (held === undefined) throw notOurs()
      const last = v.safeParse(LastLine, jsonOf(held.text))
      if (splitter.isOpen() || number === 1 || !last.success)
        throw invalid(
          `the file is cut short: it has ${number} whole lines, and the last one of an export is missing`,
        )
      if (last.output.records !== number - 2 || last.output.sha256 !== hash.digest('hex'))
        throw invalid('the file was changed since it was written: its checksum is wrong')
      return last.output
    },
  }
}

const split = (push: (chunk: Uint8Array) => Buffer[], chunk: Uint8Array, lines: number): Buffer[] => {
  try {
    return push(chunk)
  } catch (cause) {
    throw invalid(`line ${lines + 1}: ${(cause as Error).message}`)
  }
}

const checkedFirst = (text: Buffer): FirstLine => {
  const first = v.safeParse(FirstLine, jsonOf(text))
  if (!first.success) throw notOurs()
  if (first.output.version > VERSION)
    throw invalid(
      `this file has version ${first.output.version} of the format, and this Allot reads up to ${VERSION}: use a newer one`,
    )
  return first.output
}

const notOurs = () =>
  invalid(`this is no export of Allot: its first line does not say {"format":"${FORMAT}",…}`)

/** Undefined for what is no JSON. */
const jsonOf = (text: Buffer): unknown => {
  try {
    return JSON.parse(text.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Goes through a whole export without keeping any of it. @throws AllotError invalid when it is not whole. */
export const checkExport = async (source: AsyncIterable<Uint8Array>): Promise<LastLine> => {
  const reader = exportReader()
  for await (const chunk of source) reader.push(chunk)
  return reader.end()
}
