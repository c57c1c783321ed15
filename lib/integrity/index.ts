/**
 * The integrity check behind `allot verify`: finds every record, index entry, counter and derived number of a
 * store that disagrees with the others, and repairs what follows from records.
 *
 * All is read in one snapshot, collection by collection, so a server may write at the same time:
 *
 * - A **record** must be valid, and have the key that follows from its id.
 * - An **index** has each entry that a record implies, and no others. That is told by a sum over the entries
 *   that it has, and one over those that the records imply; only when they differ, each entry is looked up.
 * - A **counter** is as high as the number of the records that it counts, and a **sequence** is above all
 *   numbers that it gave.
 * - A **check** of a domain compares a record with others, such as those that it refers to.
 * - A **recount** of a domain compares sums over records with the numbers that other records hold, such as
 *   the usage of an owner.
 * - No other **keys** exist.
 *
 * In memory are the counts of one collection, and the sums of all recounts.
 *
 * **Repair** runs this check again and again (lib/verify.ts), and repairs what it found (repair.ts): first
 * indexes, counters and sequences, on which every change of a record relies, and then, once they agree, the
 * members of records that domains derive. It changes only values that follow from other records, and ends
 * with a check that finds nothing to repair.
 */

export {
  type Check,
  type CheckedStore,
  check,
  type Fault,
  type Recount,
  readIfValid,
  repairMembers,
  validIn,
} from './checks.ts'
export { exists, isKnown, referenceChecks } from './references.ts'
export { Repairs } from './repair.ts'
export type { Totals } from './run.ts'
export { type OnCount, verifyRecords } from './verify.ts'
