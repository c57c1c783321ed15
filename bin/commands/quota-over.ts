import type { QuotaOverInfo } from '../../lib/api/quota/plan-schema.ts'
import { formatSizeFixed } from '../../lib/byte-sizes.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import { type Column, type PrintFlags, printPages } from '../terminal/print.ts'

interface Flags extends ApiFlags, PrintFlags {
  subject: string
  within?: string
}

const OWNERS: readonly Column<QuotaOverInfo>[] = [
  { title: 'NAME', cell: ({ owner }) => owner.login },
  { title: 'USED', cell: ({ used }) => formatSizeFixed(used) },
  { title: 'LIMIT', cell: ({ limit }) => formatSizeFixed(limit) },
  {
    title: '',
    cell: ({ over, left }) => (over ? `over by ${formatSizeFixed(-left)}` : `${formatSizeFixed(left)} left`),
  },
]

/** Who is over quota, or so near to it, largest excess first. */
export const listOver = ({ subject, within, ...flags }: Flags): Promise<void> =>
  withApi(flags, (api) => {
    const near = within === undefined ? '' : `&within=${encodeURIComponent(within)}`
    const pages = api.pages<QuotaOverInfo>(`/admin/quota/over?subject=${subject}${near}`)
    return printPages(pages, OWNERS, flags, `nobody is over quota for ${subject}`)
  })
