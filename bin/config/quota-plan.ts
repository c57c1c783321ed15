import * as v from 'valibot'
import { recordOf } from '../../lib/http/validate.ts'
import { Size } from '../../lib/options.ts'
import { Subject } from '../../lib/quota/subjects.ts'
import { checkFile, readToml } from './config.ts'

const names = v.array(v.string())

/** The file that `allot quota apply` reads: all rules, groups and assignments that should exist. */
const PlanFile = v.strictObject({
  prune: v.optional(v.boolean(), false),
  rules: v.optional(
    v.array(v.strictObject({ name: v.string(), limit: Size, subjects: v.optional(v.array(Subject), []) })),
    [],
  ),
  groups: v.optional(v.array(v.strictObject({ name: v.string(), rules: v.optional(names, []) })), []),
  assignments: v.optional(recordOf(names), {}),
})
export type PlanFile = v.InferOutput<typeof PlanFile>

/**
 * @param file `-` reads standard input
 * @throws Error with one line for every key that is unknown or has a wrong value
 */
export const readPlan = (file: string): PlanFile => checkFile(file, PlanFile, readToml(file))
