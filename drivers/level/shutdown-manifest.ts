import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { damaged } from './errors.ts'

/**
 * LevelDB takes a log that was cut short for one that a crash has ended, and opens what is left of it. So a store that
 * is closed in order notes what its files were like, and whatever has happened to them since is noticed.
 */
interface CleanStop {
  /** What CURRENT said. LevelDB writes a new manifest whenever it opens, so another one makes the note void. */
  current: string
  files: Record<string, Noted>
}

interface Noted {
  size: number
  /** Of logs and manifests, where LevelDB misses what is lost at their end; its tables have checksums of their own. */
  sha256?: string
}

const NOTE = 'CLOSED.json'

/** Once the database is closed. A disk that takes no note leaves none: then the next start knows what LevelDB knows. */
export const writeShutdownManifest = async (location: string): Promise<void> => {
  const unfinished = join(location, `${NOTE}.unfinished`)
  try {
    const note = JSON.stringify(await cleanStopOf(location), undefined, 2)
    await withFile(unfinished, 'w', (file) => file.writeFile(note))
    await rename(unfinished, join(location, NOTE))
    await withFile(location, 'r', async () => undefined)
  } catch {
    await rm(unfinished, { force: true }).catch(() => undefined)
  }
}

/** Once the database is open, and the note void: one that cannot be removed does no harm. */
export const removeShutdownManifest = (location: string): Promise<void> =>
  rm(join(location, NOTE), { force: true }).catch(() => undefined)

/** @throws {StorageError} corrupt when the files are not what they were when the store was closed. */
export const checkShutdownManifest = async (location: string): Promise<void> => {
  const text = await readFile(join(location, NOTE), 'utf8').catch(() => undefined)
  if (text === undefined) return
  const { current, files } = parsed(text, location)
  for (const [name, noted] of Object.entries(files)) {
    // Looked at each time: another process may be opening the store just now, and have done with some of the files.
    if ((await currentOf(location)) !== current) return
    const change = await changeOf(join(location, name), noted)
    if (change === undefined || (await currentOf(location)) !== current) continue
    throw damaged(location, { detail: `since it was closed, ${name} ${change}` })
  }
}

const parsed = (text: string, location: string): CleanStop => {
  try {
    return JSON.parse(text) as CleanStop
  } catch (cause) {
    throw damaged(location, { detail: `${NOTE} cannot be read`, cause })
  }
}

const cleanStopOf = async (location: string): Promise<CleanStop> => {
  const files: CleanStop['files'] = {}
  for (const name of (await readdir(location)).filter((one) => /\.(log|ldb|sst)$|^MANIFEST-/.test(one)))
    files[name] = await withFile(join(location, name), 'r+', (file) =>
      noted(file, !/\.(ldb|sst)$/.test(name)),
    )
  return { current: (await currentOf(location)) ?? '', files }
}

const currentOf = (location: string): Promise<string | undefined> =>
  readFile(join(location, 'CURRENT'), 'utf8').catch(() => undefined)

const changeOf = async (path: string, before: Noted): Promise<string | undefined> => {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return 'is gone'
  try {
    const { size, sha256 } = await noted(file, before.sha256 !== undefined)
    if (size !== before.size) return `has gone from ${before.size} bytes to ${size}`
    return sha256 === before.sha256 ? undefined : 'has other bytes'
  } finally {
    await file.close()
  }
}

const noted = async (file: FileHandle, hashed: boolean): Promise<Noted> => {
  const { size } = await file.stat()
  if (!hashed) return { size }
  const hash = createHash('sha256')
  for await (const chunk of file.createReadStream({ autoClose: false, start: 0 })) hash.update(chunk)
  return { size, sha256: hash.digest('hex') }
}

/** What was done with the file is on the disk when this resolves. */
const withFile = async <T>(
  path: string,
  flags: string,
  work: (file: FileHandle) => Promise<T>,
): Promise<T> => {
  const file = await open(path, flags)
  try {
    const result = await work(file)
    await file.sync()
    return result
  } finally {
    await file.close()
  }
}
