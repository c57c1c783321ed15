import type { FilePlace } from './disk.ts'

/** Removes files, but none while somebody reads those of a moment that is past. */
export const createDeletionHold = (take: (place: FilePlace) => Promise<void>) => {
  let keepers = 0
  let due: (() => Promise<void>)[] = []

  const letGo = async () => {
    if (--keepers > 0) return
    const works = due
    due = []
    for (const work of works) await work()
  }

  return {
    keep() {
      keepers++
      return letGo
    },
    async remove(place: FilePlace, removed: () => Promise<void> = async () => undefined): Promise<void> {
      const work = async () => {
        await take(place)
        await removed()
      }
      if (keepers > 0) due.push(work)
      else await work()
    },
  }
}
