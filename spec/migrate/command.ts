import { LIMITS } from '../../bin/migrate/source-requests.ts'
import { allot } from '../bin/in-process.ts'

/** Runs a command line in this process. A migration waits no time before it sends a request again. */
export const command = async (
  args: readonly string[],
  { env = {} }: { env?: Record<string, string> } = {},
) => {
  LIMITS.pause = async () => undefined
  return allot(args, undefined, { env }).finally(() => {
    delete LIMITS.pause
  })
}
