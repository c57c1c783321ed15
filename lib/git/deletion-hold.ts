import { markDue, removeDue, removeWhole } from './disk.ts'

/** Removes repositories, but none while somebody reads those of a moment that is past. */
export interface DeletionHold {
  /** From now on until the answer is called every repository stays where it is. */
  hold(): () => Promise<void>
  remove(folder: string): Promise<void>
}

export const createDeletionHold = (): DeletionHold => {
  let keepers = 0
  let due: string[] = []

  const letGo = async () => {
    if (--keepers > 0) return
    const folders = due
    due = []
    for (const folder of folders) await removeDue(folder)
  }

  return {
    hold() {
      keepers++
      return letGo
    },
    async remove(folder) {
      if (keepers === 0) return removeWhole(folder)
      due.push(folder)
      await markDue(folder)
    },
  }
}
