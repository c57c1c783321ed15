import { describe } from 'node:test'
import { readAgain } from './driver-spec/repeatable-reads.ts'
import { durability } from './driver-spec/durability.ts'
import { faults } from './driver-spec/faults.ts'
import type { Candidate } from './driver-spec/fixture.ts'
import { isolation } from './driver-spec/isolation.ts'
import { life } from './driver-spec/lifecycle.ts'
import { model } from './driver-spec/model.ts'
import { namedReads } from './driver-spec/named-reads.ts'
import { sharing } from './driver-spec/processes.ts'
import { ranges } from './driver-spec/ranges.ts'
import { serialisability } from './driver-spec/serialisability.ts'
import { values } from './driver-spec/values.ts'

export type { Candidate, Fixture, Recipe } from './driver-spec/fixture.ts'

const parts = [
  life,
  values,
  ranges,
  isolation,
  readAgain,
  namedReads,
  serialisability,
  sharing,
  durability,
  model,
  faults,
]

/**
 * The whole proof of a storage driver. A driver's own specification is one call:
 *
 *     driverSpec({ name: 'mine', durable: false, create: async () => ({ driver: mine(), dispose: async () => {} }) })
 */
export const driverSpec = (candidate: Candidate): void => {
  describe(`the driver ${candidate.name}`, () => {
    for (const part of parts) part(candidate)
  })
}
