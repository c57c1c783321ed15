import { LRUCache } from 'lru-cache'
import { maxEntries } from '../caches.ts'
import { syncToDisk } from '../disk.ts'

const MAX_FOLDERS = 10_000
/** The outermost folders are never removed: the directory, those of the areas, and their buckets. */
const LASTING_FOLDERS = 3

/**
 * Makes new files in folders durable. The entry of a file is in its folder, and that of the folder in the one
 * above; so a folder that this process has not seen durable before is synced with all above it. Syncing one
 * that has not changed costs a flush of the disk, too.
 */
export class FolderSync {
  /** Folders whose own entry is durable. */
  readonly #durable = new LRUCache<string, true>(maxEntries(MAX_FOLDERS))
  readonly #remembered: number
  readonly #sync: (folder: string) => Promise<void>

  /**
   * @param isAlone whether no other process removes folders, and may create them again without having synced
   * them
   */
  constructor(isAlone: boolean, sync = syncToDisk) {
    this.#remembered = isAlone ? Number.POSITIVE_INFINITY : LASTING_FOLDERS
    this.#sync = sync
  }

  /**
   * Resolves when the new file in the last folder is durable. The file must not be removed before.
   * @param folders from the outermost one, which is durable, to the one of the file
   */
  async sync(folders: readonly string[]): Promise<void> {
    const hasNewEntry = (index: number) => {
      const inner = folders[index + 1]
      return inner === undefined || !this.#durable.has(inner)
    }
    await Promise.all(folders.filter((_, index) => hasNewEntry(index)).map(this.#sync))
    for (const folder of folders.slice(0, this.#remembered)) this.#durable.set(folder, true)
  }

  /** Call it before a folder is removed: another one of the same name is not durable. */
  forget(folder: string): void {
    this.#durable.delete(folder)
  }
}
