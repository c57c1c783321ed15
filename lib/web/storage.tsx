import { AllotError } from '../errors.ts'
import type { Identity } from '../hosting/identity.ts'
import { today } from '../quota/history.ts'
import type { Usage } from '../quota/subjects.ts'
import type { Account } from '../records/schema.ts'
import { Notice, Post } from './document.tsx'
import { formatList, formatSize } from './format.ts'
import { groupHref } from './groups.tsx'
import { accessibleOwner, ownedOrganizations } from './owner-access.ts'
import { type PageContext, type PageServices, page, type View } from './route.ts'
import {
  Legend,
  PartsBar,
  PlainBar,
  Size,
  StateWord,
  type SubjectStatus,
  Swatch,
  subjectStatus,
  usageParts,
} from './usage-bar.tsx'
import { type HistorySpan, historySpans, UsageHistory } from './usage-history.tsx'
import {
  isUsageKind,
  UsageList,
  type UsageListData,
  usageKinds,
  usageList,
  usageListView,
} from './usage-list.tsx'

/** @jsxRuntime automatic @jsxImportSource preact */

/** All that is shown of one owner. */
export interface StorageData {
  readonly owner: Account
  readonly usage: Usage
  readonly total: SubjectStatus
  /** In the order of the parts. */
  readonly measures: readonly SubjectStatus[]
  /** The names of the groups that judge the owner; undefined for those who are not told them. */
  readonly groups: readonly string[] | undefined
  readonly growth: readonly HistorySpan[]
  readonly lists: readonly UsageListData[]
  /** Organizations whose storage the owner answers for. */
  readonly organizations: readonly { account: Account; total: SubjectStatus; usage: Usage }[]
}

export const storageView = (frame: PageContext, facts: StorageData): View => {
  const { owner, usage, total } = facts
  return {
    title: `Storage of ${owner.name}`,
    body: (
      <>
        <h1>Storage of {owner.name}</h1>
        {owner.fullName !== '' && <p class="subtitle">{owner.fullName}</p>}
        <Groups frame={frame} facts={facts} />
        <Over facts={facts} />
        <section aria-labelledby="used">
          <h2 id="used">Used and left</h2>
          <Summary total={total} />
          <PartsBar usage={usage} measure={total} />
          <Legend usage={usage} />
        </section>
        <Limits facts={facts} />
        <UsageHistory spans={facts.growth} total={total} />
        <Organizations frame={frame} facts={facts} />
        {facts.lists.map((list) => (
          <UsageList key={list.kind} frame={frame} owner={owner.name} list={list} />
        ))}
        {owner.id === frame.user?.id && frame.hasSessions && <Everywhere frame={frame} />}
      </>
    ),
  }
}

export const Summary = ({ total: { used, room, state } }: { total: SubjectStatus }) => (
  <p class="summary">
    <strong>{formatSize(used)}</strong> used ({used.toLocaleString('en')} bytes)
    {room === undefined && '. There is no limit on the whole.'}
    {room !== undefined && state === 'over' && (
      <>
        , and the limit is {formatSize(room.limit)}: <strong>over</strong> by {formatSize(-room.remaining)}.
      </>
    )}
    {room !== undefined && state !== 'over' && (
      <>
        , <strong>{formatSize(room.remaining)}</strong> left of {formatSize(room.limit)}.
      </>
    )}
  </p>
)

/** Shown to administrators, as the API has it. */
const Groups = ({ frame, facts: { groups } }: { frame: PageContext; facts: StorageData }) =>
  groups === undefined ? null : (
    <p class="subtitle">
      {groups.length === 0 ? 'Judged by no group.' : 'Judged by: '}
      {groups.map((name, at) => (
        <>
          {at > 0 && ', '}
          <a href={groupHref(frame, name)}>{name}</a>
        </>
      ))}
    </p>
  )

const Everywhere = ({ frame }: { frame: PageContext }) => (
  <section aria-labelledby="signed-in">
    <h2 id="signed-in">Signed in</h2>
    <p>A change of the password ends this, too, and so does revoking the token that it was begun with.</p>
    <Post frame={frame} to="/-/sign-out">
      <button type="submit" class="quiet" name="everywhere" value="yes">
        Sign out everywhere
      </button>
    </Post>
  </section>
)

/** What is over, in words. */
const Over = ({ facts }: { facts: StorageData }) => {
  const named = [
    { name: 'everything together', measure: facts.total },
    ...facts.measures.map((measure, at) => ({ name: usageParts[at]!.name.toLowerCase(), measure })),
  ]
  // What the whole says holds for each kind, too: to say it once is enough.
  const own = named.filter(({ measure }, at) => at === 0 || isTighter(measure, facts.total))
  const over = own.filter(({ measure }) => measure.state === 'over')
  const near = own.filter(({ measure }) => measure.state === 'near')
  const words = (some: typeof named) => formatList(some.map(({ name }) => name.replace(/^lfs$/, 'LFS')))
  return (
    <>
      {over.length > 0 && (
        <Notice kind="over">
          <strong>Over quota</strong> for {words(over)}.
        </Notice>
      )}
      {near.length > 0 && (
        <Notice kind="near">
          <strong>Nearly full:</strong> {words(near)}.
        </Notice>
      )}
    </>
  )
}

/** Those kinds that have less left than the whole: of the others the whole says all. */
const Limits = ({ facts: { measures, total } }: { facts: StorageData }) => {
  const tighter = measures
    .map((measure, at) => ({ measure, at }))
    .filter(({ measure }) => isTighter(measure, total))
  return tighter.length === 0 ? null : (
    <section aria-labelledby="limits">
      <h2 id="limits">Limits of their own</h2>
      <ul class="measures">
        {tighter.map(({ measure, at }) => (
          <li key={measure.subject}>
            <div class="line">
              <span>
                <Swatch part={at} />
                {usageParts[at]!.name}
              </span>
              <StateWord measure={measure} />
            </div>
            <PlainBar measure={measure} part={at} />
            <Against measure={measure} />
          </li>
        ))}
      </ul>
    </section>
  )
}

const isTighter = ({ room }: SubjectStatus, total: SubjectStatus): boolean =>
  room !== undefined && (total.room === undefined || room.remaining < total.room.remaining)

const Against = ({ measure: { used, room } }: { measure: SubjectStatus }) => (
  <div class="line small">
    <span>
      <Size bytes={used} /> used
    </span>
    {room !== undefined && <span>limit {formatSize(room.limit)}</span>}
  </div>
)

const Organizations = ({ frame, facts: { organizations } }: { frame: PageContext; facts: StorageData }) =>
  organizations.length === 0 ? null : (
    <section aria-labelledby="organizations">
      <h2 id="organizations">Organizations</h2>
      <ul class="measures">
        {organizations.map(({ account, total, usage }) => (
          <li key={account.id}>
            <div class="line">
              <a href={frame.at(`/-/storage/${account.name}`)}>{account.name}</a>
              <StateWord measure={total} />
            </div>
            <PartsBar usage={usage} measure={total} />
            <Against measure={total} />
          </li>
        ))}
      </ul>
    </section>
  )

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
