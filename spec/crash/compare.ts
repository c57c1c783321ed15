import { type CheckResult, check } from './checker.ts'
import type { Client } from './client.ts'
import { type Observer, observe } from './observe.ts'
import { recount, recountFolders } from './recount.ts'

export interface CompareOptions {
  /** The directory with the git repositories. */
  directory: string
  /** Whether to compare the usage of each owner with the files and the entries. */
  recounts: boolean
  /**
   * Whether the server was started after the last write, and so has removed directories without a repository.
   */
  isStarted: boolean
}

/** Compares what the clients wrote with the answers of the server, and the answers with each other. */
export const compare = async (
  clients: readonly Client[],
  observer: Observer,
  { directory, recounts, isStarted }: CompareOptions,
): Promise<CheckResult> => {
  const entries = clients.flatMap(({ model, unanswered }) => [
    ...model.entries.values(),
    ...(unanswered?.after.entries.values() ?? []),
  ])
  const observed = await observe(observer, entries)
  const results = clients.map((client) => check(client, observed.facts))
  if (recounts) await recount({ ...observed, ...observer, directory })
  if (isStarted) await recountFolders({ ...observed, directory })
  return {
    lost: results.flatMap(({ lost }) => lost),
    inconsistent: [...results.flatMap(({ inconsistent }) => inconsistent), ...observed.contradictions],
  }
}
