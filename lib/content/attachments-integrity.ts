import {
  amountSource,
  check,
  type IntegrityChecks,
  type LookupValue,
  lookup,
  type Recount,
} from '../integrity/checks.ts'
import {
  attachments,
  comments,
  files,
  issues,
  ledgerEntries,
  releases,
  repositories,
} from '../records/schema/index.ts'
import { attachmentIdIn } from './attachment-records.ts'

const repository = lookup(repositories, () => 1)
const targets = {
  issue: lookup(issues, () => 1),
  comment: lookup(comments, () => 1),
  release: lookup(releases, () => 1),
}

/** What is in a repository that is gone goes in steps of its own: its attachments, what counts them, and its files. */
const stands = (known: LookupValue, id: number | null): boolean =>
  id !== null && known(repository, id) !== undefined

/** A record that was lost is for a person to look at, whichever it was. */
const unmendable = async (): Promise<boolean> => false

/** "Files without a record and records without a file are found." Sizes are counted with one added, so that none is 0. */
const counted: Recount = {
  name: 'a byte more than what counts for the attachment',
  counted: [
    amountSource(attachments, (one, known) =>
      stands(known, one.repository) ? [[[one.id], one.size + 1]] : [],
    ),
  ],
  stored: [
    amountSource(ledgerEntries, ({ kind, key, container, size }, known) => {
      const id = kind === 'attachments' && stands(known, container) ? attachmentIdIn(key) : undefined
      return id === undefined ? [] : [[[id], size + 1]]
    }),
  ],
  repair: unmendable,
}

const stored: Recount = {
  name: 'a byte more than the file of the attachment',
  counted: [
    amountSource(attachments, ({ repository: at, uuid, size }, known) =>
      stands(known, at) ? [[[at, uuid], size + 1]] : [],
    ),
  ],
  stored: [
    amountSource(files, ({ area, state, keeper, name, size }, known) =>
      area === 'attachments' && state === 'kept' && stands(known, keeper) ? [[[keeper, name], size + 1]] : [],
    ),
  ],
  repair: unmendable,
}

/** What attachments need of what they hang on, of the ledger and of the disk, for `verify`. */
export const attachmentsIntegrity: IntegrityChecks = {
  derived: [],
  lookups: [repository, ...Object.values(targets)],
  recounts: [counted, stored],
  checks: [
    check(attachments, ({ id, repository: at, on, holder }, known) =>
      stands(known, at) && known(targets[on], holder) === undefined
        ? [{ message: `attachment ${id} is on the ${on} ${holder}, which does not exist` }]
        : [],
    ),
  ],
}
