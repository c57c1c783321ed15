import { randomUUID } from 'node:crypto'
import { createReadStream, rmSync } from 'node:fs'
import { type FileHandle, lstat, open, rename, rm, stat } from 'node:fs/promises'
import type { Command } from 'commander'
import type { LastLine } from '../../lib/exports/format.ts'
import { type ApiClient, type ApiFlags, remoteApi, USE_SERVER } from '../client/api.ts'
import type { StoreFlags } from '../config/store.ts'
import { UsageError, writeFault } from '../errors.ts'
import { type OnCount, printNote, withProgressBar } from '../terminal.ts'
import { examples, remoteOptions, storeOptions } from './options.ts'

/** Commands that export a store, also that of a running server, and import into a store. */

export const addExportCommand = (program: Command): void => {
  remoteOptions(storeOptions(program.command('export')))
    .description('write a snapshot of everything to one file; the file contains secrets')
    .option('--out <file>', 'the file, which only its owner may read (default: standard output)')
    .option('--force', 'replace the file when it exists')
    .addHelpText('after', examples('allot export --url http://127.0.0.1:3000 --out backup.ndjson'))
    .action(exportAll)
}

const exportAll = async ({
  out,
  force = false,
  ...flags
}: ApiFlags & { out?: string; force?: boolean }): Promise<void> => {
  const file = out === '-' ? undefined : out
  const output = file === undefined ? openStandardOutput() : await openFile(file, force)
  try {
    const remote = remoteApi(flags)
    const exportTo = (onProgress: OnCount) => {
      let done = 0
      const write = async (bytes: Uint8Array) => {
        await output.write(bytes)
        done += bytes.length
        onProgress({ done, total: done })
      }
      return remote === undefined ? exportStore(flags, write) : exportServer(remote, write)
    }
    const last = await withProgressBar('exporting', exportTo, '{value} bytes')
    await output.finish?.()
    printNote(`exported ${last.lines} lines${file === undefined ? '' : ` into ${file}`}${withoutData(last)}`)
  } catch (error) {
    await output.abandon?.()
    throw error
  }
}

/** What is said of records whose data is not in the export. */
const withoutData = ({ missing }: LastLine): string =>
  missing === 0
    ? ''
    : `; without the data of ${missing} repositories or files, which was not on the disk: docs/operations.md says why`

const exportStore = async (flags: StoreFlags, write: Output['write']): Promise<LastLine> => {
  const { requireStore, withStore } = await import('../config/store.ts')
  requireStore(flags)
  return withStore(flags, ({ allot }) => allot.export(write), { alternative: USE_SERVER, owners: 'either' })
}

/** Checks the export while it arrives: a connection that breaks must not leave a file that looks complete. */
const exportServer = async (server: ApiClient, write: Output['write']): Promise<LastLine> => {
  const { checkExport } = await import('../../lib/exports/format.ts')
  async function* written() {
    for await (const chunk of server.stream('/admin/export')) {
      yield chunk
      await write(chunk)
    }
  }
  return checkExport(written())
}

interface Output {
  /** Resolves when the next chunk may be written. */
  write(bytes: Uint8Array): Promise<void>
  finish?(): Promise<void>
  /** Leaves no partial file behind. */
  abandon?(): Promise<void>
}

/**
 * Removes a file when a signal ends this process.
 * @returns keeps it from now on
 */
const removeWhenStopped = (file: string, opening: () => Promise<unknown> | undefined): (() => void) => {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const keep = () => {
    for (const signal of signals) process.off(signal, stop)
  }
  const stop = async (signal: NodeJS.Signals) => {
    keep()
    await opening()?.catch(() => undefined)
    rmSync(file, { force: true })
    // Without a listener, the signal ends the process.
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.on(signal, stop)
  return keep
}

/**
 * A file that only its owner may read. Until it is complete, it has a name that no other export has, so that
 * each removes its own file only.
 * @throws Error when the file exists and may not be replaced: the export that it holds may be the only one
 */
const openFile = async (file: string, canReplace: boolean): Promise<Output> => {
  const refuseExisting = async () => {
    if (!canReplace && (await lstat(file).catch(() => undefined)) !== undefined)
      throw new Error(`${file} exists: name another file, or give --force to replace it`)
  }
  await refuseExisting()
  const unfinished = `${file}.${randomUUID()}.unfinished`
  let opening: Promise<FileHandle> | undefined
  // Before the file exists, so that no signal leaves it behind.
  const keep = removeWhenStopped(unfinished, () => opening)
  opening = open(unfinished, 'wx', 0o600)
  const handle = await opening.catch((error: NodeJS.ErrnoException) => {
    keep()
    throw new Error(`${file} cannot be written: ${writeFault(error)}`)
  })
  return {
    write: (bytes) => handle.appendFile(bytes),
    async finish() {
      await handle.sync()
      // Another export may have finished meanwhile.
      await refuseExisting()
      await handle.close()
      await rename(unfinished, file)
      keep()
    },
    async abandon() {
      await handle.close()
      await rm(unfinished, { force: true })
      keep()
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
  }
}

export const addImportCommand = (program: Command): void => {
  storeOptions(program.command('import'))
    .argument('<file>', 'file that `allot export` has written; - for standard input')
    .description('read an export into an empty store')
    .addHelpText('after', examples('allot import backup.ndjson --data /var/lib/allot'))
    .action(importAll)
}

/**
 * A file is checked completely before anything is written; standard input and other pipes can be read once,
 * so they are checked while they arrive.
 */
const importAll = async (file: string, flags: StoreFlags): Promise<void> => {
  const [{ describeStore, driverFor, foldersOf, storeLocation }, { importAllot }, { checkExport }] =
    await Promise.all([
      import('../config/store.ts'),
      import('../../lib/allot.ts'),
      import('../../lib/exports/format.ts'),
    ])
  const size = file === '-' ? undefined : await sizeOf(file)
  const format = size === undefined ? '{value} bytes' : '{bar} {percentage} % of {total} bytes'
  if (size !== undefined)
    await withProgressBar('checking', (onProgress) => checkExport(read(file, size, onProgress)), format)
  const location = storeLocation(flags)
  const target = { ...foldersOf(location), driver: await driverFor(location) }
  const last = await withProgressBar(
    'importing',
    (onProgress) => importAllot(target, read(file, size, onProgress)),
    format,
  )
  printNote(`imported ${last.lines} lines into ${await describeStore(location)}${withoutData(last)}`)
}

/** @returns undefined for what can be read once only, such as a pipe; a folder is refused when it is read */
const sizeOf = async (file: string): Promise<number | undefined> => {
  const stats = await stat(file).catch((cause: unknown) => {
    throw unreadable(file, cause)
  })
  return stats.isFile() || stats.isDirectory() ? stats.size : undefined
}

async function* read(
  file: string,
  size: number | undefined,
  onProgress: OnCount,
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
  const reason = (cause as Error).message.replace(/^\w+: |, \w+( '[^']*')?$/g, '')
  return new Error(`${file} cannot be read: ${reason}`, { cause })
}
