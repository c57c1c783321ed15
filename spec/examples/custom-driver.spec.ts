import { sortedArray } from '../../examples/custom-driver.ts'
import { driverSpec } from '../driver-spec.ts'

driverSpec({
  name: 'the driver of the examples',
  durable: false,
  create: async () => ({ driver: sortedArray(), dispose: async () => undefined }),
})
