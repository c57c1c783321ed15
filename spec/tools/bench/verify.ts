import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildProgram } from '../../support/build.ts'
import { fill, MILLION } from './filled.ts'
import { memoryOf } from './memory.ts'
import type { Bench } from './report/measure.ts'

interface Run {
  seconds: number
  /** The most that the process ever had in memory; undefined where the system does not tell. */
  mebibytes: number | undefined
  said: string
}

/** The real command as it is published, in a process of its own. */
const verified = async (program: string, data: string): Promise<Run> => {
  const begun = performance.now()
  const words = [program, 'verify', '--data', data]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  let [said, mebibytes] = ['', undefined as number | undefined]
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const batcher = setInterval(() => {
    mebibytes = memoryOf(child.pid!, 'VmHWM') ?? mebibytes
  }, 100)
  const [code] = await once(child, 'close')
  clearInterval(batcher)
  if (code !== 0) throw new Error(`allot verify ended with ${code}: ${said}`)
  return { seconds: (performance.now() - begun) / 1000, mebibytes, said }
}

export const verification: Bench = {
  name: 'verify',
  async run({ say }) {
    const data = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    try {
      say('filling a store with a million records')
      const records = await fill(join(data, 'store'), MILLION)
      say('recounting it')
      const { seconds, mebibytes, said } = await verified(buildProgram(), data)
      if (!said.startsWith(`${records} records`)) throw new Error(said)
      const name = `\`allot verify\` of ${said.replace(/: all agree\n$/, '').replace(/\d+/g, grouped)}`
      const time = {
        name,
        value: seconds,
        unit: 's' as const,
        goal: 'within 180 s',
        isReached: seconds <= 180,
      }
      if (mebibytes === undefined) return [time]
      const memory = {
        value: mebibytes,
        unit: 'MiB' as const,
        goal: 'within 512 MiB',
        isReached: mebibytes <= 512,
      }
      return [time, { name: 'the most memory that it had', ...memory }]
    } finally {
      rmSync(data, { recursive: true, force: true })
    }
  },
}

const grouped = (digits: string): string => Number(digits).toLocaleString('en')
