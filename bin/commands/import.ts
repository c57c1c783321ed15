import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Command } from 'commander'
import type { StoreFlags } from '../config/store.ts'
import { printNote } from '../terminal.ts'
import { type OnProgress, withProgressBar } from '../terminal/progress.ts'
import { examples, storeOptions } from './options.ts'

export const addImportCommand = (program: Command): void => {
  storeOptions(program.command('import'))
    .argument('<file>', 'file that `allot export` has written; - for standard input')
    .description('read an export into an empty store')
    .addHelpText('after', examples('allot import backup.ndjson --data /var/lib/allot'))
    .action(importAll)
}

/** A file is checked completely before anything is written; standard input can only be checked while it arrives. */
const importAll = async (file: string, flags: StoreFlags): Promise<void> => {
  const [{ driverFor, foldersIn, storeLocation }, { importAllot }, { checkExport }] = await Promise.all([
    import('../config/store.ts'),
    import('../../lib/allot.ts'),
    import('../../lib/transfer/format.ts'),
  ])
  const size = file === '-' ? undefined : await sizeOf(file)
  const format = size === undefined ? '{value} bytes' : '{bar} {percentage} % of {total} bytes'
  if (size !== undefined)
    await withProgressBar('checking', (onProgress) => checkExport(read(file, size, onProgress)), format)
  const location = storeLocation(flags)
  const target = { ...foldersIn(location), driver: await driverFor(location) }
  const { records } = await withProgressBar(
    'importing',
    (onProgress) => importAllot(target, read(file, size, onProgress)),
    format,
  )
  printNote(`imported ${records} lines into ${flags.storage ?? location.data}`)
}

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
  onProgress: OnProgress,
): AsyncGenerator<Uint8Array, void, undefined> {
  let done = 0
  const source = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 })
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      yield chunk
      done += chunk.length
      onProgress({ done, total: size ?? done })
    }
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

const unreadable = (file: string, cause: unknown): Error => {
  const reason = (cause as Error).message.replace(/^\w+: |, \w+( '.*')?$/g, '')
  return new Error(`${file} cannot be read: ${reason}`, { cause })
}
