import type { Difference } from './table.ts'

export const repositories: readonly Difference[] = []
