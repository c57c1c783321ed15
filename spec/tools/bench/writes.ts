import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { level } from '../../../drivers/level/index.ts'
import { atLeast, type Bench, inTurns } from './report/measure.ts'

const BATCH_SIZE = 32
const TRANSACTIONS = 4096
const VALUE = Buffer.alloc(100, 'x')

let made = 0
const threeKeys = (): Buffer[] => {
  const number = ++made
  return ['record', 'index', 'counter'].map((word) => Buffer.from(`${word} ${number * 7919}`))
}

/** Transactions a second of the given way to write many of them. */
const rate = async (write: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await write()
  return (TRANSACTIONS / (performance.now() - begun)) * 1000
}

export const writes: Bench = {
  name: 'writes',
  async run({ rounds, say }) {
    say('writing transactions of 3 keys')
    const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    const driver = level(join(folder, 'driver'))
    const raw = new ClassicLevel<Buffer, Buffer>(join(folder, 'raw'), {
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
    })
    await driver.open()
    await raw.open()

    const throughDriver = async () => {
      const client = async () => {
        for (let at = 0; at < TRANSACTIONS / BATCH_SIZE; at++)
          await driver.write(async (tx) => {
            for (const key of threeKeys()) tx.put(key, VALUE)
          })
      }
      await Promise.all(Array.from({ length: BATCH_SIZE }, client))
    }
    const puts = (transactions: number) =>
      Array.from({ length: transactions }, threeKeys)
        .flat()
        .map((key) => ({ type: 'put' as const, key, value: VALUE }))
    const inBatches = async () => {
      for (let at = 0; at < TRANSACTIONS / BATCH_SIZE; at++) await raw.batch(puts(BATCH_SIZE), { sync: true })
    }
    const inChains = async () => {
      for (let at = 0; at < TRANSACTIONS / BATCH_SIZE; at++) {
        const batch = raw.batch()
        for (const { key, value } of puts(BATCH_SIZE)) batch.put(key, value)
        await batch.write({ sync: true })
      }
    }
    const oneByOne = async () => {
      for (let at = 0; at < TRANSACTIONS; at++) await raw.batch(puts(1), { sync: true })
    }
    try {
      const measured = await inTurns(rounds, [
        () => rate(throughDriver),
        () => rate(inBatches),
        () => rate(inChains),
        () => rate(oneByOne),
      ])
      const [ours, batches, chains, single] = measured as [number, number, number, number]
      const shared = {
        name: 'durable transactions of 3 keys, 32 waiting',
        value: ours,
        unit: 'transactions/s',
      } as const
      return [
        {
          ...shared,
          reference: batches,
          against: 'classic-level, synced batches of 32 made by hand',
          ...atLeast(0.6, ours / batches),
        },
        { ...shared, reference: chains, against: 'the same batches, chained' },
        {
          ...shared,
          reference: single,
          against: 'classic-level, one synced batch each',
          ...atLeast(5, ours / single),
        },
      ]
    } finally {
      await driver.close()
      await raw.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
