import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made: string[] = []

/** A folder that is gone when the specs of this file are over. */
export const aFolder = (): string => {
  if (made.length === 0) process.once('exit', removeAll)
  const folder = mkdtempSync(join(tmpdir(), 'allot-'))
  made.push(folder)
  return folder
}

const removeAll = (): void => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
