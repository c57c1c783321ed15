import type { QuotaGroupInfo, QuotaRuleInfo } from '../../lib/api/quota/schema.ts'
import { formatLimit } from '../../lib/byte-sizes.ts'
import type { Subject } from '../../lib/quota/subjects.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import { type Api, NotFoundAtPath, pathSegment } from '../client/api-client.ts'
import { type Column, type PrintFlags, printNote, printPages } from '../terminal/print.ts'
import { UsageError } from '../usage-error.ts'
import { type ChangeFlags, change } from './quota.ts'

interface Flags extends ApiFlags, PrintFlags {}

const RULES: readonly Column<QuotaRuleInfo>[] = [
  { title: 'NAME', cell: ({ name }) => name ?? '' },
  { title: 'LIMIT', cell: ({ limit }) => formatLimit(limit) },
  { title: 'SUBJECTS', cell: ({ subjects }) => subjects.join(',') || 'none: it limits nothing' },
]
export const listRules = (flags: Flags): Promise<void> =>
  withApi(flags, (api) =>
    printPages(api.pages<QuotaRuleInfo>('/admin/quota/rules'), RULES, flags, 'there is no rule yet'),
  )

const GROUPS: readonly Column<QuotaGroupInfo>[] = [
  { title: 'NAME', cell: ({ name }) => name ?? '' },
  { title: 'RULES', cell: ({ rules }) => rules.map(ruleWords).join(', ') || 'none: it allows everything' },
]
const ruleWords = ({ name, limit }: QuotaRuleInfo) => `${name} (${formatLimit(limit)})`

export const listGroups = (flags: Flags): Promise<void> =>
  withApi(flags, (api) =>
    printPages(api.pages<QuotaGroupInfo>('/admin/quota/groups'), GROUPS, flags, 'there is no group yet'),
  )

/** What is there, or undefined. */
const found = async <T>(api: Api, path: string): Promise<T | undefined> => {
  try {
    return await api.get<T>(path, 'absent')
  } catch (error) {
    if (error instanceof NotFoundAtPath) return undefined
    throw error
  }
}

/** A rule that is there keeps what is not given; a new one needs its limit. */
export const setRule = (
  name: string,
  { limit, subjects, ...flags }: ChangeFlags & { limit?: number; subjects?: Subject[] },
): Promise<void> => {
  const path = `/admin/quota/rules/${pathSegment(name)}`
  return change(flags, async (api) => {
    const before = await found<QuotaRuleInfo>(api, path)
    const wanted = limit ?? before?.limit
    if (wanted === undefined)
      throw new UsageError(`there is no rule ${name} yet: a new one needs its --limit`)
    return { rules: [{ name, limit: wanted, subjects: subjects ?? before?.subjects ?? [] }] }
  })
}

export const setGroup = (name: string, { rules, ...flags }: ChangeFlags & { rules: string[] }) =>
  change(flags, () => ({ groups: [{ name, rules }] }))

/** Takes away what an owner had: an empty list leaves the default groups. */
export const assignGroups = (owner: string, groups: string[], flags: ChangeFlags): Promise<void> =>
  change(flags, () => ({ assignments: { [owner]: groups } }))

export const deleteRule = (name: string, flags: Flags): Promise<void> => remove('rule', name, flags)
export const deleteGroup = (name: string, flags: Flags): Promise<void> => remove('group', name, flags)

const remove = (kind: 'rule' | 'group', name: string, flags: Flags): Promise<void> => {
  const path = `/admin/quota/${kind}s/${pathSegment(name)}`
  return withApi(flags, async (api) => {
    await api.send('DELETE', path, undefined, `there is no ${kind} named ${name}`)
    printNote(`deleted the ${kind} ${name}`)
  })
}
