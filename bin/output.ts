import { open, rename, rm } from 'node:fs/promises'
import { UsageError } from './usage-error.ts'

/** Where bytes go that must be whole, or not there. */
export interface Output {
  /** Resolves when more may come. */
  write(bytes: Uint8Array): Promise<void>
  finish(): Promise<void>
  abandon(): Promise<void>
}

/** @param file standard output when absent */
export const outputTo = (file: string | undefined): Promise<Output> =>
  file === undefined || file === '-' ? standardOutput() : fileOutput(file)

/** Only its owner may read the file, and until it is whole it has another name. */
const fileOutput = async (file: string): Promise<Output> => {
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

const standardOutput = async (): Promise<Output> => {
  const { stdout } = process
  if (stdout.isTTY === true)
    throw new UsageError('an export is nothing to look at: name a file with --out, or send it on')
  // Whoever writes is told; nobody else need be.
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
