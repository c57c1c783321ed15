import { AllotError } from '../../errors.ts'
import type { Identity } from '../../hosting/identity.ts'
import { today } from '../../quota/days.ts'
import type { Account } from '../../records/schema.ts'
import { spansOf } from '../growth.ts'
import { ownedBy, ownerFor } from '../owners.ts'
import { measureOf, parts } from '../parts.ts'
import { type Frame, type PageServices, page, type View } from '../route.ts'
import { shelfOf } from '../shelves.ts'
import { isKind, kinds, shelfView } from '../views/shelf.tsx'
import { storageView } from '../views/storage.tsx'

/** How much of each list an owner's page shows, and how much a page of the list. */
const LARGEST = 5
const PAGE = 50

const measured = async ({ quota, settings }: PageServices, account: Account) => {
  const standing = await quota.standing(account.id)
  const measure = (subject: Parameters<typeof measureOf>[1]) => measureOf(standing, subject, settings.nearAt)
  return { account, standing, measure, total: measure('size:all'), usage: standing.usage }
}

const storageOf = async (
  services: PageServices,
  frame: Frame,
  user: Identity,
  owner: Account,
): Promise<View> => {
  const { usage, total, measure, standing } = await measured(services, owner)
  const owned = owner.id === user.id && maySee(user, 'organization') ? await ownedBy(services, user) : []
  return storageView(frame, {
    owner,
    usage,
    total,
    measures: parts.map(({ subject }) => measure(subject)),
    groups: user.admin && maySee(user, 'admin') ? standing.shown.map(({ name }) => name) : undefined,
    growth: spansOf(await services.quota.growth(owner.id), today()),
    shelves: await Promise.all(
      kinds.map((kind) => shelfOf(services, frame, user, owner, kind, { offset: 0, limit: LARGEST })),
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
      storageOf(services, frame, user, await ownerFor(services, user, user.username)),
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
      storageOf(services, frame, user, await ownerFor(services, user, params.owner)),
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}/{kind}',
    who: 'user',
    async handle({ user, frame, params: { owner: name, kind }, query }, services) {
      const owner = await ownerFor(services, user, name)
      if (!isKind(kind)) throw new AllotError('not_found', 'there is no such list')
      const number = pageNumber(query)
      const slice = { offset: (number - 1) * PAGE, limit: PAGE }
      const shelf = await shelfOf(services, frame, user, owner, kind, slice)
      return shelfView(frame, owner.name, shelf, { number, size: PAGE })
    },
  }),
]
