import type { Difference } from './table.ts'

export const markdown: readonly Difference[] = []
