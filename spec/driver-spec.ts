import { describe } from 'node:test'
import { durability } from './driver-spec/durability.ts'
import { faults } from './driver-spec/faults.ts'
import type { Candidate } from './driver-spec/fixture.ts'
import { isolation } from './driver-spec/isolation.ts'
import { lifecycle } from './driver-spec/lifecycle.ts'
import { model } from './driver-spec/model.ts'
import { sharing } from './driver-spec/processes.ts'
import { ranges } from './driver-spec/ranges.ts'
import { serializability } from './driver-spec/serializability.ts'
import { values } from './driver-spec/values.ts'

export type { Candidate, Fixture, Recipe } from './driver-spec/fixture.ts'

const parts = [lifecycle, values, ranges, isolation, serializability, sharing, durability, model, faults]

/**
 * The contract of a storage driver as a test suite for node:test. A driver runs all of it with one call:
 *
 *     driverSpec({
 *       name: 'mine',
 *       durable: false,
 *       create: async () => ({ driver: mine(), dispose: async () => {} }),
 *     })
 */
export const driverSpec = (candidate: Candidate): void => {
  describe(`the driver ${candidate.name}`, () => {
    for (const part of parts) part(candidate)
  })
}
