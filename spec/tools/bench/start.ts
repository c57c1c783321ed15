import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildProgram } from '../../support/build.ts'
import { memoryOf } from './memory.ts'
import { type Bench, inTurns, median } from './report/measure.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Milliseconds until a start that does not answer has failed. */
const TIMEOUTS = 20_000

/** Milliseconds between two tries: no more than the start is off by. */
const PAUSE = 5

const BARE = "require('node:http').createServer((_, res) => res.end()).listen(process.argv[1], '127.0.0.1')"

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** Milliseconds from the start of a command, which is told its port, to its server's first 200. */
const untilAnswer = async (
  command: string,
  words: (port: string) => string[],
  onAnswer: (pid: number) => void = () => undefined,
): Promise<number> => {
  const port = await freePort()
  const begun = performance.now()
  // A group of its own, so that npm and what it has started can be ended together.
  const child = spawn(command, words(String(port)), { cwd: root, stdio: 'ignore', detached: true })
  const ended = new Promise((resolve) => child.once('close', resolve))
  try {
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`)
      if (performance.now() - begun > TIMEOUTS) throw new Error(`${command} did not answer`)
      await new Promise((resolve) => setTimeout(resolve, PAUSE))
    }
    const taken = performance.now() - begun
    onAnswer(child.pid!)
    return taken
  } finally {
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGTERM')
    await ended
  }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/api/v1/version', agent: false }, (res) => {
      res.resume()
      resolve(res.statusCode === 200)
    }).once('error', () => resolve(false))
  })

/** Milliseconds that an `import 'allot'` takes. */
const importTime = async (): Promise<number> => {
  const module = JSON.stringify(new URL('../../../dist/lib/index.js', import.meta.url).href)
  const source = `const begun = performance.now(); await import(${module}); console.log(performance.now() - begun)`
  const words = ['--input-type=module', '--eval', source]
  return Number(execFileSync(process.execPath, words, { encoding: 'utf8' }))
}

export const startUp: Bench = {
  name: 'start',
  async run({ rounds, say }) {
    say('starting')
    const data = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    const program = buildProgram()
    try {
      // The first round, which is not counted, makes the store.
      const memories: number[] = []
      const [fromSource, compiled, reference, imported] = (await inTurns(rounds, [
        () => untilAnswer('npm', (port) => ['start', '--', '--port', port, '--data', data]),
        () =>
          untilAnswer(
            process.execPath,
            (port) => [program, 'serve', '--port', port, '--data', data],
            (pid) => memories.push(memoryOf(pid, 'VmRSS') ?? Number.NaN),
          ),
        () => untilAnswer(process.execPath, (port) => ['--eval', BARE, port]),
        importTime,
      ])) as [number, number, number, number]
      const memory = median(memories)
      const shared = { reference, unit: 'ms', against: 'bare node:http, without npm' } as const
      return [
        {
          ...{ name: 'first 200 after `npm start`, on an existing store', value: fromSource, ...shared },
          ...{ goal: 'within 1 s', isReached: fromSource <= 1000 },
        },
        {
          ...{ name: 'the same of what is published', value: compiled, ...shared },
          ...{ goal: 'within 250 ms', isReached: compiled <= 250 },
        },
        {
          ...{ name: 'memory at that moment', value: memory, unit: 'MiB' },
          ...{ goal: 'under 60 MiB', isReached: memory < 60 },
        },
        {
          ...{ name: "`import 'allot'`", value: imported, unit: 'ms' },
          ...{ goal: 'within 100 ms', isReached: imported <= 100 },
        },
      ]
    } finally {
      rmSync(data, { recursive: true, force: true })
    }
  },
}
