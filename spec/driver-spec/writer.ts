import type { StorageDriver } from '../../lib/storage/index.ts'
import { bytes, type Recipe, text } from './fixture.ts'

/** A process that writes until it is killed. It prints the number of each write that has resolved. */
const { module, name, parameters } = JSON.parse(process.argv[2] ?? '') as Recipe
const { [name]: make } = (await import(module)) as Record<string, (...parameters: string[]) => StorageDriver>
if (make === undefined) throw new Error(`${module} does not export ${name}`)
const driver = make(...parameters)
await driver.open()

let last = 0
const writeOn = async (): Promise<never> => {
  for (;;) {
    const number = String(++last).padStart(8, '0')
    await driver.write(async (tx) => {
      const count = Number(text(await tx.get(bytes('count'))) ?? 0)
      tx.put(bytes(`left/${number}`), bytes('x'.repeat(500)))
      tx.put(bytes('count'), bytes(`${count + 1}`))
      tx.put(bytes(`right/${number}`), bytes('y'.repeat(500)))
    })
    // The pipe does not block: a synchronous write fails while the reader of the pipe is behind.
    process.stdout.write(`${number}\n`)
  }
}
await Promise.all(Array.from({ length: 8 }, writeOn))
