import { AllotError, invalid, withLineNumber } from '../errors.ts'
import { CURRENT_LAYOUT } from '../records/schema/index.ts'
import type { ContentImport } from './content-import.ts'
import {
  type ContentLine,
  ExportReader,
  type FirstLine,
  type LastLine,
  type Line,
  type OnProgress,
  parseLine,
  type RecordLine,
  type SequenceLine,
} from './format.ts'

/** Entries that an import writes in one transaction. */
export const BATCH_SIZE = 500

/** A line of a record or a sequence, with its number in the file. */
export interface SavedLine {
  readonly number: number
  readonly line: RecordLine | SequenceLine
}

/** What an import does with the lines of an export. */
export interface LineImport {
  readonly content: ContentImport
  /** Called with the first line, whose layout is one that can be imported. */
  begin?(first: FirstLine): void
  /** @param lines at most `BATCH_SIZE` */
  save(lines: readonly SavedLine[]): Promise<void>
  /** Called once, after all records and before the content. */
  prepare?(): Promise<void>
}

/**
 * Reads an export, and imports its lines. Invariant: records that follow content are refused, so an import
 * has checked all records before it writes git data or a file, and removes only what it has written.
 * @throws AllotError invalid, with the number of the line, when the file is refused; incomplete content is
 * removed
 */
export const importLines = async (
  source: AsyncIterable<Uint8Array>,
  target: LineImport,
  onProgress?: OnProgress,
): Promise<LastLine> => {
  const { content } = target
  let isPrepared = false
  const importBatch = async (lines: readonly Line[]): Promise<void> => {
    const { saved, contents } = await parseBatch(lines, isPrepared)
    if (saved.length > 0) await target.save(saved)
    if (contents.length > 0 && !isPrepared) {
      await target.prepare?.()
      isPrepared = true
    }
    for (const { number, line } of contents) await withLineNumber(number, () => content.add(line))
  }
  const reader = new ExportReader((first) => {
    checkLayout(first)
    target.begin?.(first)
  })
  const addLines = async (lines: readonly Line[]) => {
    for (let index = 0; index < lines.length; index += BATCH_SIZE)
      await importBatch(lines.slice(index, index + BATCH_SIZE))
  }
  try {
    const last = await reader.read(source, addLines, onProgress)
    content.end()
    if (!isPrepared) await target.prepare?.()
    return last
  } catch (error) {
    await content.abandon()
    throw error
  }
}

/** @param isContent whether lines of content came before */
const parseBatch = async (lines: readonly Line[], isContent: boolean) => {
  const saved: SavedLine[] = []
  const contents: { number: number; line: ContentLine }[] = []
  for (const { number, text } of lines)
    await withLineNumber(number, () => {
      const line = parseLine(text)
      if ('repository' in line || 'file' in line) contents.push({ number, line })
      else if (isContent || contents.length > 0)
        throw invalid('records must come before git data and files: the file is damaged, so export again')
      else saved.push({ number, line })
    })
  return { saved, contents }
}

/** The records of other layouts differ. Upgrades work on a store, not on an export. */
const checkLayout = ({ layout }: FirstLine): void => {
  if (layout > CURRENT_LAYOUT)
    throw new AllotError(
      'invalid',
      `the file is from a newer Allot (layout ${layout}, this one supports ${CURRENT_LAYOUT}): import it with the newer one`,
    )
  if (layout < CURRENT_LAYOUT)
    throw new AllotError(
      'invalid',
      `the file is from an older Allot (layout ${layout}, this one needs ${CURRENT_LAYOUT}): import it with the older one, then open that store with this one`,
    )
}
