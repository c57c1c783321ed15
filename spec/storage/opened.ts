import type { TestContext } from 'node:test'
import { openFor } from '../driver-spec/fixture.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { type Observed, observe } from './observed.ts'

/** An observed driver, open, over a new folder. */
export const openObserved = async (t: TestContext): Promise<Observed> => {
  const observed = observe(temporaryDirectory())
  await openFor(t, observed.driver)
  return observed
}
