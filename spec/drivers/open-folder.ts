import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { save } from '../driver-spec/fixture.ts'

/**
 * Opens a LevelDB folder in a process of its own, or in one of its threads, and says a line for each thing that it has done.
 * `hold` opens it and keeps it open; `race` opens it, writes and closes it, again and again, as several threads at once.
 */
export interface Opening {
  /** Where `level` is imported from. */
  module: string
  mode: 'hold' | 'race'
  /** One spelling of the folder's path for each thread. */
  locations: string[]
  /** Goes before every key. */
  name: string
  /** How long a race takes. */
  durationMs?: number
}

/** A worker thread that runs this file; Node 20 does not hand the loader of TypeScript on to it. */
export const threadFor = (opening: Opening): Worker =>
  new Worker(
    `import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))})
       .then(({ register }) => register())
       .then(() => import(${JSON.stringify(import.meta.url)}))`,
    { eval: true, workerData: opening },
  )

const say = (line: string): void =>
  isMainThread ? void writeSync(1, `${line}\n`) : parentPort!.postMessage(line)

const hold = async (driver: StorageDriver): Promise<void> => {
  await driver.open().then(
    () => say('open'),
    (error: Error) => say(`refused: ${error.message}`),
  )
  setInterval(() => undefined, 1000)
}

/** A line is said once the write is durable. */
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
      say(key)
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
    threadFor({ ...opening, locations: [other], name: `${name}.${at}` }).on('message', say)
  if (mode === 'hold') await hold(level(location!))
  else await race(level(location!), name, durationMs)
}

const isProgram = process.argv[1] === fileURLToPath(import.meta.url)
if (!isMainThread && parentPort !== null) await begin(workerData)
else if (isProgram) await begin(JSON.parse(process.argv[2] ?? ''))
