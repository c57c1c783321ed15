import { amend, readable } from '../records/proof/amend.ts'
import { claim, fact, type Known, look, type Proof, type Recount } from '../records/proof/declare.ts'
import {
  type Attachment,
  attachments,
  comments,
  containers,
  files,
  issues,
  ledgerEntries,
  releases,
  repositories,
} from '../records/schema.ts'
import { attachmentIdIn, ledgerKey } from './attached.ts'

const repository = fact(repositories, () => 1)
const holders = {
  issue: fact(issues, () => 1),
  comment: fact(comments, () => 1),
  release: fact(releases, () => 1),
}

/** What is in a repository that is gone goes in steps of its own: its attachments, what counts them, and its files. */
const stands = (known: Known, id: number | null): boolean =>
  id !== null && known(repository, id) !== undefined

/** "Files without a record and records without a file are found." Sizes are counted with one added, so that none is 0. */
const counted: Recount = {
  name: 'bytes counted of attachment',
  counted: [
    claim(attachments, (one, known) => (stands(known, one.repository) ? [[[one.id], one.size + 1]] : [])),
  ],
  kept: [
    claim(ledgerEntries, ({ kind, key, container, size }, known) => {
      const id = kind === 'attachments' && stands(known, container) ? attachmentIdIn(key) : undefined
      return id === undefined ? [] : [[[id], size + 1]]
    }),
  ],
  async mend(tx, [id]) {
    const attachment = await readable(tx, attachments, [id!])
    const entry = ['attachments', ledgerKey({ id: id as number })] as const
    if (attachment === 'broken') return false
    if (attachment === undefined) return (await ledgerEntries.remove(tx, entry)) !== undefined
    if (await amend(tx, ledgerEntries, entry, { size: attachment.size })) return true
    return countAgain(tx, attachment)
  },
}

const countAgain = async (
  tx: Parameters<Recount['mend']>[0],
  { id, repository: container, on, holder, name, size, createdAt }: Attachment,
): Promise<boolean> => {
  const owner = (await containers.get(tx, [container]))?.owner
  if (owner === undefined) return false
  const comment = on === 'comment' ? await comments.get(tx, [holder]) : undefined
  const issue = on === 'release' ? undefined : await issues.get(tx, [comment?.issue ?? holder])
  await ledgerEntries.save(tx, {
    ...{ kind: 'attachments', key: ledgerKey({ id }), owner, container, name, size, createdAt },
    ...{ on: on === 'release' ? on : 'issue', index: on === 'release' ? holder : (issue?.number ?? null) },
    ...{ run: null, type: null, version: null },
  })
  return true
}

const stored: Recount = {
  name: 'bytes on the disk of attachment',
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
  /** A file that nothing belongs to is removed at the next start; one that is missing is lost. */
  mend: async (tx, [at, uuid], amount) =>
    amount === 0 && amend(tx, files, ['attachments', at!, uuid!], { state: 'leaving' }),
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
