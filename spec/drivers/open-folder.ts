import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { save } from '../driver-spec/fixture.ts'

/**
 * Opens a LevelDB folder in another process or thread, and reports each step as a line. `hold` opens the
 * folder and keeps it open; `race` opens it, writes and closes it repeatedly, in several threads at once.
 */
export interface Opening {
  /** The module that exports `level`. */
  module: string
  mode: 'hold' | 'race'
  /** A path of the folder for each thread; they may be spelled differently. */
  locations: string[]
  /** Prefix of every key. */
  name: string
  /** Duration of a race. */
  durationMs?: number
}

/** A worker thread that runs this file. Node 20 does not pass the TypeScript loader on to threads. */
export const threadFor = (opening: Opening): Worker =>
  new Worker(
    `import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))})
       .then(({ register }) => register())
       .then(() => import(${JSON.stringify(import.meta.url)}))`,
    { eval: true, workerData: opening },
  )

const report = (line: string): void =>
  isMainThread ? void writeSync(1, `${line}\n`) : parentPort!.postMessage(line)

const hold = async (driver: StorageDriver): Promise<void> => {
  await driver.open().then(
    () => report('open'),
    (error: Error) => report(`refused: ${error.message}`),
  )
  // Until this process is killed, or the one that started it has ended.
  if (isMainThread) process.stdin.resume()
  else setInterval(() => undefined, 1000)
}

/** Reports a key once its write is durable. */
const race = async (driver: StorageDriver, name: string, durationMs: number): Promise<void> => {
  const end = performance.now() + durationMs
  for (let turn = 0; performance.now() < end; turn++) {
    const isOpen = await driver.open().then(
      () => true,
      () => false,
    )
    for (let at = 0; isOpen && at < 5; at++) {
      const key = `${name}/${turn}/${at}`
      await save(driver, { [key]: 'written' })
      report(key)
    }
    await driver.close()
    await sleep(Math.random() * 20)
  }
}

const begin = async ({ locations, ...opening }: Opening): Promise<void> => {
  const { module, mode, name, durationMs = 0 } = opening
  const [location, ...others] = locations
  const { level } = (await import(module)) as { level: (location: string) => StorageDriver }
  for (const [at, other] of others.entries())
    threadFor({ ...opening, locations: [other], name: `${name}.${at}` }).on('message', report)
  if (mode === 'hold') await hold(level(location!))
  else await race(level(location!), name, durationMs)
}

const isProgram = process.argv[1] === fileURLToPath(import.meta.url)
if (!isMainThread && parentPort !== null) await begin(workerData)
else if (isProgram) await begin(JSON.parse(process.argv[2] ?? ''))
