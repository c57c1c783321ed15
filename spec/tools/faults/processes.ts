import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readdirSync, readFileSync } from 'node:fs'
import { unprivileged } from '../../postgres/cluster.ts'

/** A program that runs until it is killed, with its output in a file. */
export interface Running {
  readonly pid: number
  kill(signal?: NodeJS.Signals): Promise<void>
}

/** Starts a program as the user of PostgreSQL. */
export const run = (program: string, args: readonly string[], log: string, cwd: string): Running => {
  const child: ChildProcess = spawn(program, args, {
    ...unprivileged(),
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = createWriteStream(log, { flags: 'a' })
  child.stdout!.pipe(output, { end: false })
  child.stderr!.pipe(output, { end: false })
  return {
    pid: child.pid!,
    async kill(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill(signal)
      await exited
    },
  }
}

/** The process and all that it and they have started. */
export const withDescendants = (pid: number): number[] => {
  const childrenOf = new Map<number, number[]>()
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), Number(entry)])
    } catch {
      // The process has ended meanwhile.
    }
  const collect = (parent: number): number[] => [
    parent,
    ...(childrenOf.get(parent) ?? []).flatMap((child) => collect(child)),
  ]
  return collect(pid)
}

export const signalAll = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids)
    try {
      process.kill(pid, signal)
    } catch {
      // The process has ended meanwhile.
    }
}
