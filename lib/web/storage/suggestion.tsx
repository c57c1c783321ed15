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
import { formatCount, Link, Notice } from '../parts/components.tsx'
import type { PageServices } from '../parts/route.ts'
import { unbrokenSize } from '../parts/sizes.ts'
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
 * Git data can only be freed with its whole repository, so repositories are the last choice; where files do
 * not suffice, because one form cannot delete enough of them, repositories are the first.
 */
const selectionFor = (
  { rule, left }: LimitState,
  files: readonly StorageItem[],
  repositories: readonly StorageItem[],
) => {
  // Below the limit, not at it: usage at the limit is over quota.
  const needed = (left < 0 ? -left : 0) + 1
  const select = (...steps: ((selection: Selection) => void)[]) => {
    const selection = new Selection(rule, needed)
    for (const step of steps) step(selection)
    const { items, freed } = selection
    return { items, freed, isEnough: freed >= needed }
  }
  const addFiles = (selection: Selection) => selection.addFiles(files)
  const addRepositories = (selection: Selection) => selection.addRepositories(repositories)
  const filesFirst = select(addFiles, addRepositories)
  if (filesFirst.isEnough) return filesFirst
  const repositoriesFirst = select(addRepositories, addFiles)
  return repositoriesFirst.freed > filesFirst.freed ? repositoriesFirst : filesFirst
}

/** Grows until it frees enough, or is as large as one form. Nothing in it is part of another item in it. */
class Selection {
  items: StorageItem[] = []
  /** Bytes of the items, as the rule counts them. */
  freed = 0
  readonly #rule: QuotaRule
  readonly #needed: number
  /** Bytes of the items in each repository, or of the whole repository. */
  readonly #freedIn = new Map<number, number>()

  constructor(rule: QuotaRule, needed: number) {
    this.#rule = rule
    this.#needed = needed
  }

  get #canGrow(): boolean {
    return this.freed < this.#needed && this.items.length < MAX_SELECTED
  }

  /** @param files the largest first */
  addFiles(files: readonly StorageItem[]): void {
    const whole = new Set(this.items.map(({ repositoryId }) => repositoryId))
    for (const file of files) {
      if (!this.#canGrow) return
      const bytes = file.isHidden ? 0 : countedIn(this.#rule, file)
      if (bytes > 0 && (file.repositoryId === null || !whole.has(file.repositoryId))) this.#add(file, bytes)
    }
  }

  /**
   * Each time the smallest repository that suffices, or else the one that frees most. What is in it goes with
   * it.
   */
  addRepositories(repositories: readonly StorageItem[]): void {
    const left = new Map(
      repositories.flatMap((one) => (one.isHidden ? [] : [[one, countedIn(this.#rule, one)]])),
    )
    while (this.#canGrow) {
      const chosen = this.#nextOf(left)
      if (chosen === undefined) return
      const [repository, gain] = chosen
      left.delete(repository)
      this.items = this.items.filter(({ repositoryId }) => repositoryId !== repository.repositoryId)
      this.#add(repository, gain)
    }
  }

  #add(item: StorageItem, bytes: number): void {
    this.items.push(item)
    this.freed += bytes
    if (item.repositoryId !== null)
      this.#freedIn.set(item.repositoryId, (this.#freedIn.get(item.repositoryId) ?? 0) + bytes)
  }

  /** The next repository, with the bytes that it frees besides the items in it that are selected already. */
  #nextOf(repositories: ReadonlyMap<StorageItem, number>): readonly [StorageItem, gain: number] | undefined {
    const missing = this.#needed - this.freed
    let enough: readonly [StorageItem, number] | undefined
    let most: readonly [StorageItem, number] | undefined
    for (const [repository, bytes] of repositories) {
      const gain = bytes - (this.#freedIn.get(repository.repositoryId!) ?? 0)
      if (gain <= 0) continue
      if (gain >= missing && (enough === undefined || gain <= enough[1])) enough = [repository, gain]
      if (most === undefined || gain > most[1]) most = [repository, gain]
    }
    return enough ?? most
  }
}

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
      : `The ${formatCount(items.length, 'item')} below use ${unbrokenSize(freed)}, which is not enough: the rest is in items that are not listed here.`}{' '}
    {items.some(({ kind }) => kind === 'repositories') && 'Git data is freed with its whole repository. '}
    {items.some(isElsewhere) && 'Delete items marked ↗ in the system that stores them. '}
    <Link to={`/-/storage/${owner}/usage`}>View all items</Link>
  </Notice>
)
