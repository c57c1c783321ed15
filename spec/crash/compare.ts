import { type CheckResult, check } from './checker.ts'
import type { Client } from './client.ts'
import { type Observer, observe } from './observe.ts'
import { recount, recountFolders } from './recount.ts'

export interface CompareOptions {
  /** Where the repositories are. */
  directory: string
  /** Whether every counter is recounted, and all lists are held against each other. */
  recounts: boolean
  /** Whether the server has been started since what was done to it, and has put the folders in order. */
  isStarted: boolean
}

/** What the clients wrote against what the server says, and that against itself. */
export const compare = async (
  clients: readonly Client[],
  eyes: Observer,
  { directory, recounts, isStarted }: CompareOptions,
): Promise<CheckResult> => {
  const entries = clients.flatMap(({ model, unanswered }) => [
    ...model.entries.values(),
    ...(unanswered?.after.entries.values() ?? []),
  ])
  const seen = await observe(eyes, entries)
  const verdicts = clients.map((client) => check(client, seen.facts))
  if (recounts) await recount({ ...seen, ...eyes, directory, secrets: secretsOf(clients) })
  if (isStarted) await recountFolders({ ...seen, directory })
  return {
    lost: verdicts.flatMap((verdict) => verdict.lost),
    inconsistent: [...verdicts.flatMap((verdict) => verdict.inconsistent), ...seen.contradictions],
  }
}

const secretsOf = (clients: readonly Client[]): Map<string, string> => {
  const known = clients.flatMap((client) => [...client.state.secrets])
  return new Map(known.map(([login, { secret }]) => [login, secret]))
}
