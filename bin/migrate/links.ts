import { allItems, type Found, type Slice } from '../../lib/records/pages.ts'
import type { Account, Repository } from '../../lib/records/schema/index.ts'
import type { Migration } from './migration.ts'
import type { Item, Things } from './things.ts'

/** What leads from something here to accounts or repositories, such as the memberships of an organization. */
export interface Links<T extends Account | Repository>
  extends Pick<Things, 'kind' | 'scope' | 'within' | 'members'> {
  /** Id of what they belong to. */
  readonly of: number
  /** The account or the repository here that has the key, if a link can lead to it. */
  withKey(key: string): Promise<T | undefined>
  /** All that links lead to here, and perhaps more. */
  all(slice: Slice): Promise<Found<T> | undefined>
  has(to: T): Promise<unknown>
  add(to: T): Promise<unknown>
  remove(to: T): Promise<unknown>
  /** What the report says of those that lead to nothing here, and their names there; absent: nothing. */
  notHere?(label: string): readonly [what: string, name: string]
}

/** Links as they are followed. */
export interface LinkedThings extends Things {
  /** A link that the source has. */
  itemFor(name: string, label: string, more?: Partial<Item>): Item
}

export const followLinks = <T extends Account | Repository>(
  { report, names }: Migration,
  links: Links<T>,
): LinkedThings => {
  const { of } = links
  const nameOf = (to: T) => ('owner' in to ? names.pathOf(to) : to.name)
  return {
    ...links,
    async find(key) {
      const to = await links.withKey(key)
      return to !== undefined && (await links.has(to)) ? { of, to: to.id } : undefined
    },
    async shown(_, key) {
      const to = await links.withKey(key)
      return to && nameOf(to)
    },
    async remove(key) {
      const to = await links.withKey(key)
      if (to !== undefined) await links.remove(to)
    },
    async list() {
      const found = await allItems((slice) => links.all(slice))
      const has = await Promise.all(found.map((to) => links.has(to)))
      const own = found.filter((_, index) => has[index])
      return Promise.all(own.map(async (to) => ({ copy: { of, to: to.id }, label: await nameOf(to) })))
    },
    itemFor: (name, label, more) => ({
      name,
      label,
      async isPossible() {
        const isHere = (await links.withKey(name)) !== undefined
        if (!isHere && links.notHere !== undefined) report.note('notCopied', ...links.notHere(label))
        return isHere
      },
      async create() {
        const to = await links.withKey(name)
        return to !== undefined && (await links.add(to)) !== false
      },
      ...more,
    }),
  }
}
