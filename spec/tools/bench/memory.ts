import { readFileSync } from 'node:fs'

/**
 * MiB that a process has in memory (`VmRSS`), the most that it ever had (`VmHWM`, which the kernel keeps, so
 * that reading it now and then misses only the end), or the part that is not pages of a file (`RssAnon`);
 * undefined where the system does not tell.
 */
export const memoryOf = (pid: number, which: 'VmRSS' | 'VmHWM' | 'RssAnon'): number | undefined => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const kibibytes = new RegExp(`^${which}:\\s+(\\d+)`, 'm').exec(status)?.[1]
    return kibibytes === undefined ? undefined : Number(kibibytes) / 1024
  } catch {
    return undefined
  }
}
