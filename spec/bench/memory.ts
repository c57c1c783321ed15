import { readFileSync } from 'node:fs'

/**
 * MiB that a process has in memory (`VmRSS`), or the most that it ever had (`VmHWM`, which the kernel keeps, so that looking
 * now and then misses nothing but the very end), or what of it is no page of a file (`RssAnon`); undefined where the
 * system does not tell.
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
