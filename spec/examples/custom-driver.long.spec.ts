import { sortedArray } from '../../examples/custom-driver.ts'
import { driverSpec } from '../driver-spec.ts'

driverSpec({
  name: 'the example of a custom driver',
  durable: false,
  create: async () => ({ driver: sortedArray(), dispose: async () => undefined }),
})
