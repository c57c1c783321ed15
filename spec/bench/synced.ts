import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'

const BATCH_SIZE = 32
const VALUE = Buffer.alloc(100, 'x')

/** Changes of so many keys each, a second, of raw LevelDB, in synced batches of 32 changes made by hand. */
export const syncedBatches = async (
  keys: number,
): Promise<{
  rate: () => Promise<number>
  close: () => Promise<void>
}> => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
  const raw = new ClassicLevel<Buffer, Buffer>(folder, { keyEncoding: 'buffer', valueEncoding: 'buffer' })
  await raw.open()
  let made = 0
  const rate = async () => {
    const begun = performance.now()
    let changes = 0
    for (; performance.now() - begun < 1000; changes += BATCH_SIZE) {
      const puts = Array.from({ length: BATCH_SIZE * keys }, () => ({
        ...{ type: 'put' as const, key: Buffer.from(`key ${++made * 7919}`), value: VALUE },
      }))
      await raw.batch(puts, { sync: true })
    }
    return (changes / (performance.now() - begun)) * 1000
  }
  const close = async () => {
    await raw.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { rate, close }
}
