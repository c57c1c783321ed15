import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { damaged } from './errors.ts'

/**
 * Sizes and checksums of LevelDB's files, written after a clean shutdown and checked before the next start.
 * LevelDB takes a truncated log for the result of a crash and opens the rest of it without an error; the
 * manifest reveals the loss.
 */
interface ShutdownManifest {
  /** Content of CURRENT. Each open of LevelDB changes it, so a manifest with another content is outdated. */
  current: string
  files: Record<string, FileState>
}

interface FileState {
  size: number
  /**
   * Hash of a log or a manifest of LevelDB, whose end LevelDB does not protect. Tables have checksums of
   * their own.
   */
  sha256?: string
}

const MANIFEST_FILE = 'CLOSED.json'

/**
 * Call it once the database is closed. On a full disk it writes no manifest, and the next start is unchecked.
 *
 * Invariant: a manifest is complete. Another process can open and close the store meanwhile, so each manifest
 * is written to a file of its own and then renamed.
 */
export const writeShutdownManifest = async (location: string): Promise<void> => {
  const temporary = join(location, `${MANIFEST_FILE}.${randomUUID()}`)
  try {
    const manifest = JSON.stringify(await readState(location), undefined, 2)
    await withSyncedFile(temporary, 'w', (file) => file.writeFile(manifest))
    await rename(temporary, join(location, MANIFEST_FILE))
    await withSyncedFile(location, 'r', async () => undefined)
  } catch {
    await rm(temporary, { force: true }).catch(() => undefined)
  }
}

/**
 * Call it once the database is open. Removes unfinished manifests too. A manifest that cannot be removed is
 * harmless, because it is outdated.
 */
export const removeShutdownManifest = async (location: string): Promise<void> => {
  const names = await readdir(location).catch((): string[] => [])
  for (const name of names.filter((file) => file.startsWith(MANIFEST_FILE)))
    await rm(join(location, name), { force: true }).catch(() => undefined)
}

/** @throws StorageError `corrupt` when the files have changed since the clean shutdown. */
export const checkShutdownManifest = async (location: string): Promise<void> => {
  const text = await readFile(join(location, MANIFEST_FILE), 'utf8').catch(() => undefined)
  if (text === undefined) return
  const { current, files } = parse(text, location)
  for (const [name, state] of Object.entries(files)) {
    // Checked each time: another process may open the store meanwhile and replace the files.
    if ((await readCurrent(location)) !== current) return
    const change = await describeChange(join(location, name), state)
    if (change === undefined || (await readCurrent(location)) !== current) continue
    throw damaged(location, { detail: `since it was closed, ${name} ${change}` })
  }
}

const parse = (text: string, location: string): ShutdownManifest => {
  try {
    return JSON.parse(text) as ShutdownManifest
  } catch (cause) {
    throw damaged(location, { detail: `${MANIFEST_FILE} cannot be read`, cause })
  }
}

const readState = async (location: string): Promise<ShutdownManifest> => {
  // Read before the files: when another process opens the store meanwhile, the manifest is outdated instead
  // of wrong.
  const current = (await readCurrent(location)) ?? ''
  const files: ShutdownManifest['files'] = {}
  for (const name of (await readdir(location)).filter((file) => /\.(log|ldb|sst)$|^MANIFEST-/.test(file)))
    files[name] = await withSyncedFile(join(location, name), 'r+', (file) =>
      stateOf(file, !/\.(ldb|sst)$/.test(name)),
    )
  return { current, files }
}

const readCurrent = (location: string): Promise<string | undefined> =>
  readFile(join(location, 'CURRENT'), 'utf8').catch(() => undefined)

const describeChange = async (path: string, before: FileState): Promise<string | undefined> => {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return 'is gone'
  try {
    const { size, sha256 } = await stateOf(file, before.sha256 !== undefined)
    if (size !== before.size) return `has gone from ${before.size} bytes to ${size}`
    return sha256 === before.sha256 ? undefined : 'has other bytes'
  } finally {
    await file.close()
  }
}

const stateOf = async (file: FileHandle, withHash: boolean): Promise<FileState> => {
  const { size } = await file.stat()
  if (!withHash) return { size }
  const hash = createHash('sha256')
  for await (const chunk of file.createReadStream({ autoClose: false, start: 0 })) hash.update(chunk)
  return { size, sha256: hash.digest('hex') }
}

const withSyncedFile = async <T>(
  path: string,
  flags: string,
  body: (file: FileHandle) => Promise<T>,
): Promise<T> => {
  const file = await open(path, flags)
  try {
    const result = await body(file)
    await file.sync()
    return result
  } finally {
    await file.close()
  }
}
