import type { TestContext } from 'node:test'
import { temporaryFolder } from '../drivers/temporary-folder.ts'
import { type Observed, observe } from './observed.ts'

/** An observed driver, open, over a folder that goes when the test ends. */
export const openObserved = async (t: TestContext): Promise<Observed> => {
  const { folder, remove } = await temporaryFolder()
  const observed = observe(folder)
  t.after(async () => {
    await observed.driver.close()
    await remove()
  })
  await observed.driver.open()
  return observed
}
