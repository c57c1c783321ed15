/**
 * Suggests items to remove so that an owner gets below a limit: the largest that the rule counts, as few as
 * suffice.
 */
import type { Identity } from '../../accounts/access.ts'
import type { StorageItem } from '../../content/usage/storage-item.ts'
import type { StorageItemPage } from '../../content/usage/storage-items.ts'
import type { QuotaRule } from '../../quota/evaluate.ts'
import { countedAs } from '../../quota/ledger.ts'
import { noUsage, type Usage, usedBy } from '../../quota/subjects.ts'
import { usageOfRepository } from '../../quota/usage.ts'
import type { Account, LedgerKind } from '../../records/schema/index.ts'
import { formatCount, Link, Notice, unbrokenSize } from '../parts/components.tsx'
import type { PageServices } from '../parts/route.ts'
import { isElsewhere } from './item-text.tsx'
import { formatUsedOf, type LimitState, limitStates } from './limits.tsx'
import { MAX_SELECTED } from './removal.tsx'

/** The largest repositories, and as many of the largest other items, that a suggestion looks at. */
const MAX_CONSIDERED = 500

interface RemovalSuggestion extends StorageItemPage {
  readonly limit: LimitState
  /** Bytes of the selected items, as the rule counts them. */
  readonly freed: number
  readonly isEnough: boolean
}

/**
 * @param rule name of the rule to get below
 * @returns undefined unless the owner is over the rule
 */
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
  const largest = { offset: 0, limit: MAX_CONSIDERED }
  const [{ items: all }, { items: repositories }] = await Promise.all([
    hosting.storageItems.list(user, owner.id, {}, largest),
    hosting.storageItems.list(user, owner.id, { kind: 'repositories' }, largest),
  ])
  const files = all.filter(({ kind }) => kind !== 'git')
  const { items, ...selection } = selectionFor(limit, files, repositories)
  return { limit, ...selection, items, total: items.length, listed: items.length, isPartial: false }
}

/**
 * Selects until enough is freed, or as much as one form deletes; nothing in it is part of another item in it.
 * Git data can only be freed with its whole repository, so repositories are the last choice; where files do
 * not suffice, because one form cannot delete enough of them, repositories are the first.
 * @param files the largest first
 */
const selectionFor = (
  { rule, left }: LimitState,
  files: readonly StorageItem[],
  repositories: readonly StorageItem[],
) => {
  // Below the limit, not at it: usage at the limit is over quota.
  const needed = (left < 0 ? -left : 0) + 1
  const counted = new Map(
    [...files, ...repositories].map((item) => [item, item.isHidden ? 0 : countedIn(rule, item)]),
  )
  const freedBy = (items: readonly StorageItem[]) =>
    items.reduce((sum, item) => sum + (counted.get(item) ?? 0), 0)
  const nextFile = (items: readonly StorageItem[]) => {
    const chosen = new Set(items)
    const whole = new Set(items.filter(isWhole).map(({ repositoryId }) => repositoryId))
    return files.find((file) => counted.get(file)! > 0 && !chosen.has(file) && !whole.has(file.repositoryId))
  }
  /** The smallest repository that suffices, or else the one that frees most besides what is in it already. */
  const nextRepository = (items: readonly StorageItem[]) => {
    const freedIn = new Map<number | null, number>()
    for (const item of items)
      freedIn.set(item.repositoryId, (freedIn.get(item.repositoryId) ?? 0) + counted.get(item)!)
    const gains = repositories
      .map((item) => ({ item, gain: counted.get(item)! - (freedIn.get(item.repositoryId) ?? 0) }))
      .filter(({ gain }) => gain > 0)
      .sort((one, other) => other.gain - one.gain)
    const missing = needed - freedBy(items)
    return (gains.findLast(({ gain }) => gain >= missing) ?? gains[0])?.item
  }
  const select = (...choices: ((items: readonly StorageItem[]) => StorageItem | undefined)[]) => {
    let items: StorageItem[] = []
    for (const next of choices)
      while (freedBy(items) < needed && items.length < MAX_SELECTED) {
        const chosen = next(items)
        if (chosen === undefined) break
        items = [...items.filter((item) => !isIn(item, chosen)), chosen]
      }
    const freed = freedBy(items)
    return { items, freed, isEnough: freed >= needed }
  }
  const filesFirst = select(nextFile, nextRepository)
  if (filesFirst.isEnough) return filesFirst
  const repositoriesFirst = select(nextRepository, nextFile)
  return repositoriesFirst.freed > filesFirst.freed ? repositoriesFirst : filesFirst
}

/** Whether an item goes with a repository. */
const isIn = (item: StorageItem, whole: StorageItem): boolean =>
  isWhole(whole) && !isWhole(item) && item.repositoryId === whole.repositoryId

const isWhole = ({ kind }: StorageItem): boolean => kind === 'repositories'

/** Bytes of an item, as a rule counts them: once for each of its subjects. */
const countedIn = ({ subjects }: QuotaRule, item: StorageItem): number => {
  const usage = usageOfItem(item)
  return subjects.reduce((sum, subject) => sum + usedBy(subject, usage), 0)
}

/** What an item adds to the usage of its owner: a repository with everything in it. */
const usageOfItem = ({ kind, size, usage, used }: StorageItem): Usage => {
  if (usage !== undefined) return usageOfRepository(usage)
  return { ...noUsage, [countedAs({ kind: kind as LedgerKind, on: used?.entry.on ?? null })]: size }
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
      ? `Deleting the ${formatCount(items.length, 'item')} below frees ${unbrokenSize(freed)}, which is enough to get under the limit.`
      : limit.rule.limit <= 0
        ? 'Usage that reaches the limit counts as over: nothing that you delete gets under this limit.'
        : `The ${formatCount(items.length, 'item')} below use ${unbrokenSize(freed)}, which is not enough: the rest is in items that are not listed here.`}{' '}
    {items.some(({ kind }) => kind === 'repositories') && 'Git data is freed with its whole repository. '}
    {items.some(isElsewhere) && 'Delete items marked ↗ in the system that stores them. '}
    <Link to={`/-/storage/${owner}/usage`}>View all items</Link>
  </Notice>
)
