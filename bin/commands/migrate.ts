import { explainLocked } from '../client/api-access.ts'
import type { StoreFlags } from '../config/store.ts'
import { migrate } from '../migrate/index.ts'
import { createReport, type Report } from '../migrate/report.ts'
import { sourceAt } from '../migrate/source.ts'
import { open } from '../open.ts'
import { print } from '../terminal/print.ts'
import { UsageError } from '../usage-error.ts'

interface Flags extends StoreFlags {
  from: string
  token?: string
  owner: string[]
}

const GO_ON = ': what was copied stays, and the same command goes on from there'

/** Into the store itself: over an API nobody can follow, star or own in the name of somebody else. */
export const migrateFrom = async ({ from, token, owner, ...flags }: Flags): Promise<void> => {
  const source = await sourceAt(from, secretIn(token))
  const { allot, config, data, repositories } = await open(flags).catch(explainLocked)
  const git = repositories === false ? undefined : { ...repositories, largest: config.git.largestPush }
  const report = createReport()
  try {
    await migrate({ source, allot, report, git }, owner)
  } catch (error) {
    tell(report)
    throw report.lines().length === 0 ? error : new Error(`${(error as Error).message}${GO_ON}`)
  } finally {
    await allot.close()
  }
  print(`from ${source.base} into ${flags.storage ?? data}`)
  tell(report)
  if (!report.isWhole()) process.exitCode = 1
}

const tell = (report: Report): void => {
  for (const line of report.lines()) print(line)
}

const secretIn = (token: string | undefined): string => {
  const secret = (token ?? process.env.ALLOT_FROM_TOKEN)?.trim()
  if (!secret)
    throw new UsageError('the source needs a token: --token, or ALLOT_FROM_TOKEN in the environment')
  if (!/^[\x21-\x7e]+$/.test(secret)) throw new UsageError('the token has characters that no token has')
  return secret
}
