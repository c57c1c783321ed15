import { claim, fact, type Known, look, type Proof, type Recount } from '../records/proof/declare.ts'
import {
  attachments,
  comments,
  files,
  issues,
  ledgerEntries,
  releases,
  repositories,
} from '../records/schema.ts'
import { attachmentIdIn } from './attached.ts'

const repository = fact(repositories, () => 1)
const holders = {
  issue: fact(issues, () => 1),
  comment: fact(comments, () => 1),
  release: fact(releases, () => 1),
}

/** What is in a repository that is gone goes in steps of its own: its attachments, what counts them, and its files. */
const stands = (known: Known, id: number | null): boolean =>
  id !== null && known(repository, id) !== undefined

/** A record that was lost is for a person to look at, whichever it was. */
const unmendable = async (): Promise<boolean> => false

/** "Files without a record and records without a file are found." Sizes are counted with one added, so that none is 0. */
const counted: Recount = {
  name: 'a byte more than what counts for the attachment',
  counted: [
    claim(attachments, (one, known) => (stands(known, one.repository) ? [[[one.id], one.size + 1]] : [])),
  ],
  kept: [
    claim(ledgerEntries, ({ kind, key, container, size }, known) => {
      const id = kind === 'attachments' && stands(known, container) ? attachmentIdIn(key) : undefined
      return id === undefined ? [] : [[[id], size + 1]]
    }),
  ],
  mend: unmendable,
}

const stored: Recount = {
  name: 'a byte more than the file of the attachment',
  counted: [
    claim(attachments, ({ repository: at, uuid, size }, known) =>
      stands(known, at) ? [[[at, uuid], size + 1]] : [],
    ),
  ],
  kept: [
    claim(files, ({ area, state, keeper, name, size }, known) =>
      area === 'attachments' && state === 'kept' && stands(known, keeper) ? [[[keeper, name], size + 1]] : [],
    ),
  ],
  mend: unmendable,
}

/** What attachments need of what they hang on, of the ledger and of the disk, for `verify`. */
export const attachmentsProof: Proof = {
  derived: [],
  facts: [repository, ...Object.values(holders)],
  recounts: [counted, stored],
  looks: [
    look(attachments, ({ id, repository: at, on, holder }, known) =>
      stands(known, at) && known(holders[on], holder) === undefined
        ? [{ says: `attachment ${id} is on the ${on} ${holder}, which does not exist` }]
        : [],
    ),
  ],
}
