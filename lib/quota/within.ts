/** The condition of a put that happens only when its owner is within quota afterwards. */
import { AllotError } from '../errors.ts'
import type { LedgerRecord } from '../records/schema/index.ts'
import { bindingLimit, explain, type QuotaExplanation, type QuotaGroup } from './evaluate.ts'
import { countedAs } from './ledger.ts'
import { type Subject, subjectOf, usedBy, withAncestors } from './subjects.ts'
import type { UsageChange } from './usage.ts'

/** Nothing was stored, because an owner would be over quota: code `over_quota`, status 413. */
export class OverQuotaError extends AllotError {
  /** Why, as `explain` says it about the usage that the owner has: `left` is what still fits. */
  readonly explanation: QuotaExplanation

  /** @param explanation of the subject for which the owner would be over quota */
  constructor(message: string, explanation: QuotaExplanation) {
    super('over_quota', message, { details: { explanation } })
    this.explanation = explanation
  }
}

/** Every subject that an entry counts toward. */
export const subjectsOf = (entry: Pick<LedgerRecord, 'kind' | 'on'>): readonly Subject[] =>
  withAncestors(subjectOf[countedAs(entry)])

/**
 * Refuses a change that makes the sum of a subject grow, and the usage exceed the limit that decides about
 * it. Usage that is equal to the limit fits: a limit of 10 takes exactly 10 entries of 1 byte.
 * @throws OverQuotaError for the first of the subjects that does not fit
 */
export const requireWithin = (
  owner: string,
  subjects: Iterable<Subject>,
  groups: readonly QuotaGroup[],
  { before, after }: Pick<UsageChange, 'before' | 'after'>,
): void => {
  for (const subject of subjects) {
    const binding = bindingLimit(groups, subject, after)
    if (binding === undefined || binding.left >= 0) continue
    if (usedBy(subject, after) <= usedBy(subject, before)) continue
    const { rule, limit, left } = binding
    throw new OverQuotaError(
      `nothing was stored: ${owner} would exceed the limit of the rule ${rule}, ${limit} bytes, for ${subject} by ${-left} bytes`,
      explain(groups, subject, before),
    )
  }
}
