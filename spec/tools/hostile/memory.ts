import { readdirSync, readFileSync } from 'node:fs'

const PAGE = 4096

/** Resident bytes of a process, and of all its descendants. */
export interface Resident {
  own: number
  children: number
}

/** Undefined when the process has ended. */
const statOf = (pid: string): { parent: string; bytes: number } | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { parent: fields[1]!, bytes: Number(fields[21]) * PAGE }
  } catch {
    return undefined
  }
}

const residentOf = (pid: number): Resident => {
  const all = new Map(
    readdirSync('/proc').flatMap((name) => {
      const stat = /^\d+$/.test(name) ? statOf(name) : undefined
      return stat === undefined ? [] : [[name, stat] as const]
    }),
  )
  const isDescendant = (name: string): boolean => {
    const parent = all.get(name)?.parent
    return parent !== undefined && (parent === String(pid) || isDescendant(parent))
  }
  const children = [...all]
    .filter(([name]) => isDescendant(name))
    .reduce((sum, [, { bytes }]) => sum + bytes, 0)
  return { own: all.get(String(pid))?.bytes ?? 0, children }
}

/**
 * Samples the memory of a process.
 * @returns a function that stops it and returns the peaks
 */
export const watchMemory = (pid: number): (() => Resident) => {
  const peak: Resident = { own: 0, children: 0 }
  const sample = () => {
    const { own, children } = residentOf(pid)
    peak.own = Math.max(peak.own, own)
    peak.children = Math.max(peak.children, children)
  }
  sample()
  const timer = setInterval(sample, 100)
  return () => {
    clearInterval(timer)
    return peak
  }
}
