import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { importAllot } from '../../lib/import.ts'
import { checkExport } from '../../lib/transfer/format.ts'
import { type StoreFlags, unopened } from '../open.ts'
import { createProgressBar, type ProgressBar, withProgressBar } from '../terminal/progress.ts'

/** A file is gone through once before anything is touched; what comes over a pipe is checked as it comes. */
export const importEverything = async (file: string, flags: StoreFlags): Promise<void> => {
  const size = file === '-' ? undefined : await sizeOf(file)
  if (size !== undefined)
    await withProgressBar(progressBar('checking', size), (told) => checkExport(read(file, size, told)))
  const { data, ...into } = await unopened(flags)
  const { records } = await withProgressBar(progressBar('importing', size), (told) =>
    importAllot(into, read(file, size, told)),
  )
  process.stderr.write(`imported ${records} lines into ${flags.storage ?? data}\n`)
}

const progressBar = (doing: string, size: number | undefined): Promise<ProgressBar> =>
  createProgressBar(doing, size === undefined ? '{value} bytes' : '{bar} {percentage} % of {total} bytes')

const sizeOf = async (file: string): Promise<number> => {
  try {
    return (await stat(file)).size
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

async function* read(
  file: string,
  size: number | undefined,
  told: ProgressBar['onProgress'],
): AsyncGenerator<Uint8Array, void, undefined> {
  let done = 0
  const source = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 })
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      yield chunk
      done += chunk.length
      told({ done, total: size ?? done })
    }
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

const unreadable = (file: string, cause: unknown): Error => {
  const why = (cause as Error).message.replace(/^\w+: |, \w+( '.*')?$/g, '')
  return new Error(`${file} cannot be read: ${why}`, { cause })
}
