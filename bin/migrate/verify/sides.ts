import type { Migration, MigrationOptions } from '../migration.ts'
import type { Source } from '../source.ts'
import type { Comparison } from './comparison.ts'

export interface VerifyOptions extends MigrationOptions {
  /** The API of the store, read as the source is. */
  readonly here: Source
  readonly report: Comparison
}

/** Shared by all parts of a comparison. */
export type Sides = Omit<Migration, 'report'> & Pick<VerifyOptions, 'here' | 'report'>
