/** @jsxRuntime automatic @jsxImportSource preact */
/** Suggests things to remove so that an owner gets below a limit: the largest that the rule counts, as few as suffice. */
import type { Identity } from '../../accounts/access.ts'
import { formatSize } from '../../byte-sizes.ts'
import { type StorageItem, totalOf } from '../../content/usage/storage-item.ts'
import type { StorageItemPage } from '../../content/usage/storage-items.ts'
import { add, compare, type Sum, subtract } from '../../integers.ts'
import type { QuotaRule } from '../../quota/evaluate.ts'
import { type Subject, withAncestors } from '../../quota/subjects.ts'
import type { Account } from '../../records/schema/index.ts'
import { formatCount, Link, Notice } from '../components.tsx'
import type { PageServices } from '../route.ts'
import { formatUsedOf, type LimitState, limitStates } from './limits.tsx'

/** Things of each kind that a suggestion looks at. */
const MAX_CONSIDERED = 500

/** Things that it selects at most: as many as one form deletes. */
const MAX_SELECTED = 50

export interface RemovalSuggestion extends StorageItemPage {
  readonly limit: LimitState
  /** Bytes of the selected things, as the rule counts them. */
  readonly freed: Sum
  readonly isEnough: boolean
}

/** @param rule name of the rule to get below @returns undefined unless the owner is over the rule */
export const suggestionFor = async (
  { quota, hosting, settings }: PageServices,
  user: Identity,
  owner: Account,
  rule: string | null,
): Promise<RemovalSuggestion | undefined> => {
  if (rule === null) return undefined
  const limits = limitStates(await quota.statuses.of(owner.id), settings.warnAt)
  const limit = limits.find((one) => one.rule.name === rule && one.state === 'over')
  if (limit === undefined) return undefined
  const { items } = await hosting.storageItems.list(user, owner.id, {}, { offset: 0, limit: MAX_CONSIDERED })
  const selection = selectionFor(limit, items)
  return { limit, ...selection, listed: selection.total, isPartial: false }
}

/** Repositories come last, since git data can only be freed with its whole repository. */
const selectionFor = ({ rule, left }: LimitState, things: readonly StorageItem[]) => {
  const counted = things.filter((thing) => !thing.isHidden && weightIn(rule, thing) > 0 && thing.size > 0)
  // Below the limit, not at it: usage at the limit is over quota.
  const needed = add(left < 0 ? -left : 0, 1)
  const selected: StorageItem[] = []
  let freed: Sum = 0
  const canGoOn = () => compare(freed, needed) < 0 && selected.length < MAX_SELECTED
  const select = (thing: StorageItem) => {
    selected.push(thing)
    freed = add(freed, weighted(rule, thing))
  }
  for (const thing of counted.filter(({ kind }) => kind !== 'git')) if (canGoOn()) select(thing)
  const git = counted.filter(({ kind }) => kind === 'git')
  while (git.length > 0 && canGoOn()) {
    const missing = subtract(needed, freed)
    const enough = git.findLastIndex((thing) => compare(weighted(rule, thing), missing) >= 0)
    select(git.splice(Math.max(0, enough), 1)[0]!)
  }
  const items = withWholeRepositories(selected)
  return { items, freed, total: items.length, isEnough: compare(freed, needed) >= 0 }
}

/** Puts repositories in the place of their git data, and leaves out what is deleted with them. */
const withWholeRepositories = (selected: readonly StorageItem[]): StorageItem[] => {
  const git = selected.filter(({ kind }) => kind === 'git')
  const whole = new Set(git.map(({ repositoryId }) => repositoryId))
  const others = selected.filter(({ repositoryId }) => !whole.has(repositoryId))
  return [...others, ...git.map(repositoryOf)]
}

const repositoryOf = (git: StorageItem): StorageItem => ({
  ...git,
  kind: 'repositories',
  id: `repositories:${git.repositoryId}`,
  size: totalOf(git.usage!),
})

const weighted = (rule: QuotaRule, thing: StorageItem): Sum => {
  let bytes: Sum = 0
  for (let times = weightIn(rule, thing); times > 0; times--) bytes = add(bytes, thing.size)
  return bytes
}

/** How often a rule counts a thing: a subject that the rule lists twice, or together with its parent, counts twice. */
const weightIn = ({ subjects }: QuotaRule, thing: StorageItem): number => {
  const counting = withAncestors(SUBJECTS[thing.kind](thing))
  return subjects.filter((subject) => counting.includes(subject)).length
}

const subjectOfGit = ({ inRepository }: StorageItem): Subject =>
  inRepository?.private ? 'size:repos:private' : 'size:repos:public'

const SUBJECTS: Record<StorageItem['kind'], (thing: StorageItem) => Subject> = {
  repositories: subjectOfGit,
  git: subjectOfGit,
  lfs: () => 'size:git:lfs',
  packages: () => 'size:assets:packages:all',
  artifacts: () => 'size:assets:artifacts',
  attachments: ({ used }) =>
    used?.entry.on === 'issue' ? 'size:assets:attachments:issues' : 'size:assets:attachments:releases',
}

export const Suggestion = ({
  owner,
  limit,
  freed,
  isEnough,
  items,
}: RemovalSuggestion & { owner: string }) => (
  <Notice kind={limit.state === 'over' ? 'over' : 'near'}>
    <strong>
      {limit.name}: {formatUsedOf(limit)}, rule {limit.rule.name}.
    </strong>{' '}
    {isEnough
      ? `Without the ${formatCount(items.length, 'item')} below, ${formatSize(freed)} less would be used, which is enough to get under the limit.`
      : `The ${formatCount(items.length, 'item')} below use ${formatSize(freed)}, which is not enough: the rest is in items that are not listed here.`}{' '}
    {items.some(({ kind }) => kind === 'repositories') && 'Git data is freed with its whole repository. '}
    Delete items that another system stores in that system.{' '}
    <Link to={`/-/storage/${owner}/usage`}>View all items</Link>
  </Notice>
)
