import type { FileHandle } from 'node:fs/promises'

/** Bytes that are gathered before they are written. */
const GATHERED = 512 * 1024

export interface FileWriter {
  /** Resolves when more may come. */
  add(chunk: Buffer): Promise<void>
  /** Resolves when everything is written. */
  end(): Promise<void>
}

/** Writes to a file in large pieces, each while the next one is gathered: so what is held is bounded. */
export const createWriter = (file: FileHandle): FileWriter => {
  let gathered: Buffer[] = []
  let size = 0
  let written: Promise<void> = Promise.resolve()

  const flush = async () => {
    const chunks = gathered
    gathered = []
    size = 0
    await written
    written = writeAll(file, chunks)
    // Whoever adds or ends hears of it.
    written.catch(() => undefined)
  }

  return {
    async add(chunk) {
      gathered.push(chunk)
      size += chunk.length
      if (size >= GATHERED) await flush()
    },
    async end() {
      await flush()
      await written
    },
  }
}

const writeAll = async (file: FileHandle, chunks: Buffer[]): Promise<void> => {
  if (chunks.length === 0) return
  const { bytesWritten } = await file.writev(chunks)
  // A disk that is nearly full takes a part, and says why with the next one.
  if (bytesWritten === chunks.reduce((sum, { length }) => sum + length, 0)) return
  const rest = Buffer.concat(chunks).subarray(bytesWritten)
  for (let at = 0; at < rest.length; ) at += (await file.write(rest, at)).bytesWritten
}
