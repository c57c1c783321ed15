import type { QuotaOverInfo } from '../../lib/resources/quota-plan.ts'
import { inWords } from '../bytes.ts'
import { type Column, type PrintFlags, printPages } from '../print.ts'
import { type ReachFlags, withApi } from '../reach.ts'

interface Flags extends ReachFlags, PrintFlags {
  subject: string
  within?: string
}

const OWNERS: readonly Column<QuotaOverInfo>[] = [
  { title: 'NAME', cell: ({ owner }) => owner.login },
  { title: 'USED', cell: ({ used }) => inWords(used) },
  { title: 'LIMIT', cell: ({ limit }) => inWords(limit) },
  { title: '', cell: ({ over, left }) => (over ? `over by ${inWords(-left)}` : `${inWords(left)} left`) },
]

/** Who is over quota, or so near to it, largest excess first. */
export const listOver = ({ subject, within, ...flags }: Flags): Promise<void> =>
  withApi(flags, (api) => {
    const near = within === undefined ? '' : `&within=${encodeURIComponent(within)}`
    const pages = api.pages<QuotaOverInfo>(`/admin/quota/over?subject=${subject}${near}`)
    return printPages(pages, OWNERS, flags, `nobody is over quota for ${subject}`)
  })
