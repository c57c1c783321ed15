import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const directories: string[] = []

/** Creates a directory that is removed when the process of the spec file exits. */
export const temporaryDirectory = (): string => {
  if (directories.length === 0) process.once('exit', removeDirectories)
  const folder = mkdtempSync(join(tmpdir(), 'allot-'))
  directories.push(folder)
  return folder
}

const removeDirectories = (): void => {
  for (const folder of directories) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
