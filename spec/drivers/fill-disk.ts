import { level } from '../../drivers/level/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { load, save } from '../driver-spec/fixture.ts'

/** A process that writes until the disk is full, and prints the outcome. */
const driver = level(process.argv[2]!)
await driver.open()

let acknowledged = 0
const reasons: string[] = []
while (reasons.length < 3 && acknowledged < 100_000)
  await save(driver, { [`k${acknowledged}`]: 'x'.repeat(1000) }).then(
    () => acknowledged++,
    (error: unknown) => reasons.push(error instanceof StorageError ? error.reason : String(error)),
  )
const readable = (await load(driver, `k${acknowledged - 1}`))?.length
process.stdout.write(JSON.stringify({ acknowledged, reasons, readable }))
