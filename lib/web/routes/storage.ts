import type { Identity } from '../../accounts/identity.ts'
import { AllotError } from '../../errors.ts'
import { today } from '../../quota/history.ts'
import type { Account } from '../../records/schema/index.ts'
import { accessibleOwner, ownedOrganizations } from '../owner-access.ts'
import { type PageContext, type PageServices, page, type View } from '../route.ts'
import { storageView } from '../storage.tsx'
import { subjectStatus, usageParts } from '../usage-breakdown.ts'
import { historySpans } from '../usage-history.ts'
import { usageList } from '../usage-list.ts'
import { isUsageKind, usageKinds, usageListView } from '../usage-list.tsx'

/** How much of each list an owner's page shows, and how much a page of the list. */
const LARGEST = 5
const PAGE = 50

const measured = async ({ quota, settings }: PageServices, account: Account) => {
  const standing = await quota.status(account.id)
  const measure = (subject: Parameters<typeof subjectStatus>[1]) =>
    subjectStatus(standing, subject, settings.nearAt)
  return { account, standing, measure, total: measure('size:all'), usage: standing.usage }
}

const storageOf = async (
  services: PageServices,
  frame: PageContext,
  user: Identity,
  owner: Account,
): Promise<View> => {
  const { usage, total, measure, standing } = await measured(services, owner)
  const owned =
    owner.id === user.id && maySee(user, 'organization') ? await ownedOrganizations(services, user) : []
  return storageView(frame, {
    owner,
    usage,
    total,
    measures: usageParts.map(({ subject }) => measure(subject)),
    groups: user.admin && maySee(user, 'admin') ? standing.shown.map(({ name }) => name) : undefined,
    growth: historySpans(await services.quota.history(owner.id), today()),
    lists: await Promise.all(
      usageKinds.map((kind) => usageList(services, frame, user, owner, kind, { offset: 0, limit: LARGEST })),
    ),
    organizations: await Promise.all(owned.map((one) => measured(services, one))),
  })
}

/** A session that a token has begun may read no more than the token. */
const maySee = ({ scopes }: Identity, what: 'organization' | 'admin'): boolean =>
  ['all', `read:${what}`, `write:${what}`].some((one) => scopes.has(one))

export const pageNumber = (query: URLSearchParams): number => {
  const number = Number(query.get('page') ?? 1)
  return Number.isInteger(number) && number >= 1 && number <= 1_000_000 ? number : 1
}

export const storageRoutes = [
  page({
    method: 'GET',
    path: '/',
    who: 'user',
    handle: async ({ user, frame }, services) =>
      storageOf(services, frame, user, await accessibleOwner(services, user, user.username)),
  }),
  page({
    method: 'GET',
    path: '/-/storage',
    who: 'user',
    handle: async ({ query }) => ({
      to: `/-/storage/${encodeURIComponent(query.get('owner')?.trim() || '-')}`,
    }),
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}',
    who: 'user',
    handle: async ({ user, frame, params }, services) =>
      storageOf(services, frame, user, await accessibleOwner(services, user, params.owner)),
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}/{kind}',
    who: 'user',
    async handle({ user, frame, params: { owner: name, kind }, query }, services) {
      const owner = await accessibleOwner(services, user, name)
      if (!isUsageKind(kind)) throw new AllotError('not_found', 'there is no such list')
      const number = pageNumber(query)
      const slice = { offset: (number - 1) * PAGE, limit: PAGE }
      const list = await usageList(services, frame, user, owner, kind, slice)
      return usageListView(frame, owner.name, list, { number, size: PAGE })
    },
  }),
]
