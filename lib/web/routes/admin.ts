import { isSubject, type Subject, subjects } from '../../quota/subjects.ts'
import { adminView } from '../admin.tsx'
import { page } from '../route.ts'
import type { SubjectStatus } from '../usage-breakdown.ts'
import { pageNumber } from './storage.ts'

const PAGE = 50
/** In percent: whoever has no more than that left of a limit is listed as near it. */
const WITHIN = 20

export const read = { method: 'GET', who: 'admin', scope: 'read:admin' } as const
/** What is only simulated needs no more than to read: see admin-action.ts. */
export const change = { method: 'POST', who: 'admin', scope: 'read:admin' } as const

const withinIn = (text: string | null): number => {
  const within = Number(text === null || text === '' ? WITHIN : text)
  return Number.isFinite(within) ? Math.min(100, Math.max(0, within)) : WITHIN
}

const subjectIn = (text: string | null): Subject => (text !== null && isSubject(text) ? text : subjects[0])

export const adminRoutes = [
  page({
    ...read,
    path: '/-/admin',
    async handle({ frame, query }, { hosting, quota }) {
      const [subject, within] = [subjectIn(query.get('subject')), withinIn(query.get('within'))]
      const number = pageNumber(query)
      const slice = { offset: (number - 1) * PAGE, limit: PAGE }
      const { items, total } = await quota.overQuota({ subject, within: within / 100 }, slice)
      const accounts = await hosting.accounts.byIds(items.map(({ owner }) => owner))
      return adminView(frame, {
        totals: await quota.totals(),
        users: await hosting.accounts.count('user'),
        organizations: await hosting.accounts.count('organization'),
        ...{ subject, within, total, number, size: PAGE },
        // Whoever was deleted meanwhile is left out.
        listed: items.flatMap(({ owner, over, used, limit, remaining }) =>
          accounts
            .filter(({ id }) => id === owner)
            .map(({ name }) => {
              const state: SubjectStatus['state'] = over ? 'over' : 'near'
              return { name, measure: { subject, used, room: { limit, remaining }, state } }
            }),
        ),
      })
    },
  }),
]
