import { memory } from '../../drivers/memory/index.ts'
import { driverSpec } from '../driver-spec.ts'

driverSpec({
  name: 'memory',
  durable: false,
  async create() {
    const driver = memory()
    return { driver, dispose: () => driver.close() }
  },
})
