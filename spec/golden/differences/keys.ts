import type { Difference } from './table.ts'

export const keys: readonly Difference[] = []
