import { changeResources, type QuotaChange } from '../../lib/resources/quota-plan.ts'
import { type StoreFlags, withStore } from '../open.ts'
import { type PlanFile, readPlan } from '../plan.ts'
import { type RemoteFlags, remoteIn } from '../remote.ts'

interface Flags extends StoreFlags, RemoteFlags {
  dryRun?: boolean
}

export const applyQuota = async (file: string, { dryRun = false, ...flags }: Flags): Promise<void> => {
  const plan = readPlan(file)
  const changes = await applied(plan, dryRun, flags)
  for (const change of changes) process.stdout.write(`${line(change)}\n`)
  process.stderr.write(`${summary(changes.length, dryRun)}\n`)
}

const applied = async (plan: PlanFile, dryRun: boolean, flags: Flags): Promise<QuotaChange[]> => {
  const remote = remoteIn(flags)
  if (remote !== undefined) return remote.post(`/admin/quota/apply?dry_run=${dryRun}`, plan)
  let changes: QuotaChange[] = []
  await withStore(flags, async (allot) => {
    changes = changeResources(await allot.quota.apply(plan, { dryRun }))
  })
  return changes
}

const line = ({ action, kind, name, before, after }: QuotaChange): string => {
  const settings = [before, after].filter((one) => one !== null).map(words)
  return `${action} ${kind} ${name}: ${settings.join(' -> ')}`
}

const words = ({ limit, subjects, rules, groups }: NonNullable<QuotaChange['before']>): string =>
  [limit === undefined ? [] : `limit ${limit}`, listed(subjects), listed(rules), listed(groups)]
    .flat()
    .join(', ')

const listed = (names: readonly string[] | undefined): string[] =>
  names === undefined ? [] : [`[${names.join(' ')}]`]

const summary = (count: number, dryRun: boolean): string => {
  if (count === 0) return 'nothing to change'
  const changes = `${count} ${count === 1 ? 'change' : 'changes'}`
  return dryRun ? `${changes} to make; nothing was changed` : `${changes} made`
}
