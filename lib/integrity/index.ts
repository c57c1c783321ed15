/**
 * The integrity check behind `allot verify`: finds every record, index entry, counter and derived number of a
 * store that disagrees with the others, and repairs what follows from records.
 *
 * **What is checked.** A record must be valid, and have the key that follows from its id. Everything else is
 * a **derivation**: a set of (key, amount, value) that the records imply (`expected`) and the store holds
 * (`actual`).
 *
 *     derivation             expected, from the records          actual, from the store
 *     unique, ordered index  the key of each entry, 1, record    the entries
 *     search index           the key of each posting, 1          loose postings and blocks, less tombstones
 *     counter                1 for each record that is counted   the stored count
 *     recount of a domain    amounts of some records             amounts of other records
 *
 * Each domain registers recounts, such as the usage of an owner, and checks of single records, such as that
 * the owner of a repository exists (checks.ts). Checks know other records only by **lookups**: one number per
 * record, such as 1 for "exists", which a first pass keeps in memory (checks.ts).
 *
 * **How two sides are compared.** A store has more index entries than fit into memory, and looking up every
 * entry of every record would take several times as long as reading all of them in order. So both sides are
 * summed up while the store is read once, from the first key to the last:
 *
 *      expected   + amount × hash(key, value)  ┐
 *                                              ├──▶  256 sums per derivation, one for each bucket of keys
 *      actual     − amount × hash(key, value)  ┘
 *
 * A sum of 0 means that both sides of the bucket are equal, in whatever order they were read (a difference
 * goes unnoticed with a probability of about 2^-64). In a sound store this pass is the last one. The
 * derivations and buckets whose sums are not 0 are read once more, and compared key by key (comparison.ts):
 *
 *      pass 1: lookups  ──▶  pass 2: fingerprints  ──▶  pass 3, 4, …: keys of the buckets
 *                                                                that differ, 150,000 at a time
 *
 * All passes read one snapshot, so a server may write at the same time. Memory does not grow with the store,
 * except for the ten bytes or so that a lookup keeps for each record.
 *
 * **Repair** runs rounds of this check (repair.ts): first indexes, counters and sequences, on which every
 * change of a record relies, and then, once they agree, the members of records that domains recount. It
 * changes only values that follow from other records, and ends with a round that finds nothing to repair.
 */

export type { Fault } from './checks.ts'
export {
  amounts,
  check,
  type Find,
  type IntegrityChecks,
  type Lookup,
  lookup,
  pendingJob,
  type Recount,
  type Report,
} from './checks.ts'
export { exists, isKnown, referenceIntegrity } from './references.ts'
export { readIfValid, repairMembers, repairRecords } from './repair.ts'
export type { OnCount } from './scan.ts'
export { type Totals, verifyRecords } from './verify.ts'
