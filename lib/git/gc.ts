import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { absentAs } from './disk.ts'

/** What git's own `gc --auto` takes for too much: packs, and objects that have a file each, of which it counts a 256th. */
const [MAX_PACKS, MAX_LOOSE_SAMPLE] = [50, 6700 / 256]

/** Whether a repository is in so many pieces that reading it becomes slow. */
export const needsGc = async (folder: string): Promise<boolean> => {
  const names = (path: string) => readdir(join(folder, 'objects', path)).catch(absentAs<string[]>([]))
  const packs = (await names('pack')).filter((name) => name.endsWith('.pack'))
  return packs.length > MAX_PACKS || (await names('17')).length > MAX_LOOSE_SAMPLE
}

/** Objects that nothing leads to any more go into a pack of their own, and away after two weeks. */
export const GC_ARGUMENTS = ['gc.cruftPacks=true', 'gc.autoDetach=false']
