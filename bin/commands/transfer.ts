import { open, rename, rm } from 'node:fs/promises'
import type { Command } from 'commander'
import { type ApiFlags, remoteApi } from '../client/api-access.ts'
import type { Api } from '../client/api-client.ts'
import type { StoreFlags } from '../config/store.ts'
import { UsageError } from '../errors.ts'
import { printNote } from '../terminal.ts'
import { type OnProgress, withProgressBar } from '../terminal/progress.ts'
import { examples, remoteOptions, storeOptions } from './options.ts'

export const addExportCommand = (program: Command): void => {
  remoteOptions(storeOptions(program.command('export')))
    .description('write a snapshot of everything to one file; the file contains secrets')
    .option('--out <file>', 'the file, which only its owner may read (default: standard output)')
    .addHelpText('after', examples('allot export --url http://127.0.0.1:3000 --out backup.ndjson'))
    .action(exportAll)
}

const exportAll = async ({ out, ...flags }: ApiFlags & { out?: string }): Promise<void> => {
  const output = out === undefined || out === '-' ? openStandardOutput() : await openFile(out)
  try {
    const remote = remoteApi(flags)
    const records = await withProgressBar(
      'exporting',
      (onProgress) =>
        remote === undefined
          ? exportStore(flags, output.write, onProgress)
          : exportServer(remote, output.write, onProgress),
      '{value} bytes',
    )
    await output.finish()
    printNote(`exported ${records} lines${out === undefined ? '' : ` into ${out}`}`)
  } catch (error) {
    await output.abandon()
    throw error
  }
}

/** @returns the number of exported records */
const exportStore = async (
  flags: StoreFlags,
  write: Output['write'],
  onProgress: OnProgress,
): Promise<number> => {
  const { requireStore, withStore } = await import('../config/store.ts')
  requireStore(flags)
  const { records } = await withStore(flags, (allot) =>
    allot.export(write, ({ bytes }) => onProgress({ done: bytes, total: bytes })),
  )
  return records
}

/**
 * Checks the export while it arrives: a connection that breaks must not leave a file that looks complete.
 * @returns the number of exported records
 */
const exportServer = async (server: Api, write: Output['write'], onProgress: OnProgress): Promise<number> => {
  const { createExportReader } = await import('../../lib/transfer/format.ts')
  const reader = createExportReader()
  let bytes = 0
  for await (const chunk of server.stream('/admin/export')) {
    reader.push(chunk)
    await write(chunk)
    bytes += chunk.length
    onProgress({ done: bytes, total: bytes })
  }
  return reader.end().records
}

interface Output {
  /** Resolves when the next chunk may be written. */
  write(bytes: Uint8Array): Promise<void>
  finish(): Promise<void>
  /** Leaves no partial file behind. */
  abandon(): Promise<void>
}

/** A file that only its owner may read. It has another name until it is complete. */
const openFile = async (file: string): Promise<Output> => {
  const unfinished = `${file}.unfinished`
  await rm(unfinished, { force: true })
  const handle = await open(unfinished, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${file} cannot be written: ${error.message.replace(/^\w+: |, open .*/g, '')}`)
  })
  return {
    write: (bytes) => handle.appendFile(bytes),
    async finish() {
      await handle.sync()
      await handle.close()
      await rename(unfinished, file)
    },
    async abandon() {
      await handle.close()
      await rm(unfinished, { force: true })
    },
  }
}

const openStandardOutput = (): Output => {
  const { stdout } = process
  if (stdout.isTTY === true)
    throw new UsageError('an export cannot be printed on a terminal: name a file with --out, or use a pipe')
  // `write` rejects with the error; without a listener the event would end the process.
  stdout.on('error', () => undefined)
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stdout.write(bytes, (error) => (error ? reject(error) : resolve()))
      }),
    finish: async () => undefined,
    abandon: async () => undefined,
  }
}
