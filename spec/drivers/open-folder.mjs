import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/*
 * Opens a LevelDB folder in another process or thread, as `opening.ts` says, and reports each step as a line. JavaScript,
 * so that it starts at once.
 */

/** @typedef {import('./opening.ts').Opening} Opening */
/** @typedef {import('../../lib/storage/index.ts').StorageDriver} StorageDriver */

const report = (/** @type {string} */ line) =>
  isMainThread ? void writeSync(1, `${line}\n`) : parentPort?.postMessage(line)

const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text)

const save = (/** @type {StorageDriver} */ driver, /** @type {string} */ key) =>
  driver.write(async (tx) => tx.put(bytes(key), bytes('written')))

const hold = async (/** @type {StorageDriver} */ driver) => {
  await driver.open().then(
    () => report('open'),
    (error) => report(`refused: ${error.message}`),
  )
  // Until this process is killed, or the one that started it has ended.
  if (isMainThread) process.stdin.resume()
  else setInterval(() => undefined, 1000)
}

/** Opens the folder, writes and closes it until it is killed, and reports a key once its write is durable. */
const race = async (/** @type {StorageDriver} */ driver, /** @type {string} */ name) => {
  for (let turn = 0; ; turn++) {
    const isOpen = await driver.open().then(
      () => true,
      () => false,
    )
    for (let at = 0; isOpen && at < 5; at++) {
      const key = `${name}/${turn}/${at}`
      await save(driver, key)
      report(key)
    }
    await driver.close()
    // For the others; each waits for another time.
    await sleep((7 * turn + name.charCodeAt(name.length - 1)) % 20)
  }
}

const begin = async (/** @type {Opening} */ opening) => {
  const { module, mode, locations, name = '' } = opening
  const [location, ...others] = locations
  // Node 20 does not pass the TypeScript loader on to threads.
  if (!isMainThread && module.endsWith('.ts')) (await import('tsx/esm/api')).register()
  const { level } = await import(module)
  for (const [at, other] of others.entries())
    new Worker(new URL(import.meta.url), {
      workerData: { ...opening, locations: [other], name: `${name}.${at}` },
    }).on('message', report)
  const modes = { hold, race }
  await modes[mode](level(location), name)
}

await begin(isMainThread ? JSON.parse(process.argv[2] ?? '') : workerData)
