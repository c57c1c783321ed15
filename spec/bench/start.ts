import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Bench, inTurns } from './measure.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** Milliseconds from `npm start` to the first 200. */
const start = async (data: string): Promise<number> => {
  const port = await freePort()
  const begun = performance.now()
  // A group of its own, so that npm and what it has started can be ended together.
  const child = spawn('npm', ['start', '--', '--port', String(port), '--data', data], {
    cwd: root,
    stdio: 'ignore',
    detached: true,
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 5))
  const taken = performance.now() - begun
  process.kill(-child.pid!, 'SIGTERM')
  await ended
  return taken
}

const answers = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/api/v1/version`).then(
    (answer) => answer.ok,
    () => false,
  )

export const startUp: Bench = {
  name: 'start',
  async run({ rounds, say }) {
    say('starting')
    const data = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    try {
      // The first round, which is not counted, makes the store.
      const [value] = await inTurns(rounds, [() => start(data)])
      return [
        {
          name: 'first 200 after `npm start`, on an existing store',
          value: value!,
          unit: 'ms',
          goal: 'within 1 s',
          isReached: value! <= 1000,
        },
      ]
    } finally {
      rmSync(data, { recursive: true, force: true })
    }
  },
}
