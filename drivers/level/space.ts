import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes that LevelDB may write while it opens: its log, as a table. */
const SPACE_TO_OPEN = 8 * 1024 * 1024

/** Whether LevelDB has the space to open the folder again. */
export const hasSpace = async (location: string): Promise<boolean> => {
  const file = join(location, '.space')
  try {
    const handle = await open(file, 'w')
    await handle
      .writeFile(Buffer.alloc(SPACE_TO_OPEN))
      .then(() => handle.sync())
      .finally(() => handle.close())
    return true
  } catch {
    return false
  } finally {
    await rm(file, { force: true })
  }
}

/** Milliseconds between two looks for space. */
const SPACE_INTERVAL_MS = 1000

/** Runs a task in the background, unless it has begun less than SPACE_INTERVAL_MS ago. */
export const throttled = (task: () => Promise<void>): (() => void) => {
  let since = Number.NEGATIVE_INFINITY
  return () => {
    if (performance.now() - since < SPACE_INTERVAL_MS) return
    since = performance.now()
    task().catch(() => undefined)
  }
}
