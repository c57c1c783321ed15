import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memory } from '../../../drivers/memory/index.ts'
import { openAllot } from '../../../lib/allot.ts'
import { CURRENT_LAYOUT } from '../../../lib/records/schema/index.ts'
import { nameOwner, populate } from '../../exports/instance.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { rawOf } from '../raw.ts'

/**
 * Writes a sample store of the current layout: `npx tsx spec/records/stores/write.ts`, once for each released
 * layout.
 */
const driver = memory()
const folder = temporaryDirectory()
const allot = await openAllot({
  driver,
  repositories: { directory: join(folder, 'repositories') },
  files: { directory: join(folder, 'files') },
  webhooks: true,
})
await populate(allot)
await allot.close()
await driver.open()
await nameOwner(driver)
const lines = (await rawOf(driver)).map(([key, value]) => `${JSON.stringify({ key, value })}\n`)
writeFileSync(new URL(`./layout-${CURRENT_LAYOUT}.ndjson`, import.meta.url), lines.join(''))
await driver.close()
