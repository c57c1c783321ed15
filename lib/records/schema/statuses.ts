import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { id, seconds } from '../fields.ts'

export const StatusState = v.picklist(['pending', 'success', 'error', 'failure', 'warning', 'skipped'])
export type StatusState = v.InferOutput<typeof StatusState>

const CommitStatus = v.object({
  id,
  repository: id,
  /** Id of the commit. */
  sha: v.string(),
  state: StatusState,
  /** Name of the check, such as `ci/build`: the newest status of each context counts. */
  context: v.string(),
  description: v.string(),
  /** URL of its details; empty without one. */
  targetUrl: v.string(),
  /** Id of the user who set it. */
  creator: id,
  createdAt: seconds,
  /** Whether a newer status of the commit has the same context. */
  superseded: v.boolean(),
})
export type CommitStatus = v.InferOutput<typeof CommitStatus>

const commitOf = ({ repository, sha }: CommitStatus) => [repository, sha]
const currentOf = (status: CommitStatus) => (status.superseded ? undefined : commitOf(status))

/** Results that CI systems report about commits. */
export const commitStatuses = new Collection({
  name: 'commitStatus',
  schema: CommitStatus,
  id: (status) => [status.id],
  numbers: { sequence: 'commitStatus' },
  unique: { current: (status) => (status.superseded ? undefined : [...commitOf(status), status.context]) },
  ordered: {
    commit: commitOf,
    state: (status) => [...commitOf(status), status.state],
    current: currentOf,
    repository: ({ repository }) => [repository],
  },
  counted: {
    commit: commitOf,
    state: (status) => [...commitOf(status), status.state],
    context: (status) => [...commitOf(status), status.context],
    current: currentOf,
  },
  belongsTo: [{ to: 'repository', by: 'repository' }],
})
