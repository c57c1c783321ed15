import type { Actor } from '../audit.ts'
import { AllotError, checkArgument, isObject } from '../errors.ts'
import { definedMembers } from '../records/edits.ts'
import type { Page, Slice } from '../records/pages.ts'
import { groups, rules } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { QuotaRule } from './evaluate.ts'
import type { Difference, PolicyChanges } from './policy-changes.ts'
import { bytesOf, checkSubjects, checkWholeRule, type GivenRule, toRule } from './rule-checks.ts'
import type { Subject } from './subjects.ts'

interface RuleEdit {
  /** Bytes, or a size such as `2 GiB`; -1 is unlimited. */
  limit?: number | string | undefined
  /** The subjects whose sum the rule measures. */
  subjects?: readonly Subject[] | undefined
}

/** Quota rules. Names are case-sensitive; lists are in the order of creation. */
export class Rules {
  readonly #store: Store
  readonly #changes: PolicyChanges

  constructor(store: Store, changes: PolicyChanges) {
    this.#store = store
    this.#changes = changes
  }

  /** Rules, in the order of creation. */
  async list(slice: Slice): Promise<Page<QuotaRule>> {
    const page = await this.#store.read((tx) => rules.page(tx, 'sequence', { prefix: [], ...slice }, 'all'))
    return { ...page, items: page.items.map(toRule) }
  }

  /** The rule with the name; undefined when there is none. */
  async get(name: string): Promise<QuotaRule | undefined> {
    const rule = await this.#store.read((tx) => rules.get(tx, [name]))
    return rule && toRule(rule)
  }

  /**
   * The number of the rule, which a later rule of the same name does not have; undefined when there is none.
   */
  async numberOf(name: string): Promise<number | undefined> {
    return (await this.#store.read((tx) => rules.get(tx, [name])))?.sequence
  }

  /**
   * Creates a rule.
   * @throws AllotError invalid for an unknown subject; conflict when a rule of the name exists
   */
  async create(rule: GivenRule, by?: Actor): Promise<QuotaRule> {
    checkWholeRule(rule)
    const created = toRule(rule)
    const { name } = created
    return this.#store.write(async (tx) => {
      if ((await rules.get(tx, [name])) !== undefined)
        throw new AllotError('conflict', `a rule named ${name} already exists`, { field: 'name' })
      await this.#changes.make(tx, { rules: [{ key: name, before: undefined, after: created }] }, by)
      return created
    })
  }

  /**
   * Changes the members that are given.
   * @returns undefined when the rule does not exist
   */
  async edit(name: string, edit: RuleEdit, by?: Actor): Promise<QuotaRule | undefined> {
    checkArgument(isObject(edit), 'edit', 'an object with limit or subjects', edit)
    if (edit.limit !== undefined) bytesOf(edit.limit)
    checkSubjects(edit.subjects)
    return this.#store.write(async (tx) => {
      const before = await rules.get(tx, [name])
      if (before === undefined) return undefined
      const after = toRule({ ...before, ...definedMembers(edit) })
      await this.#changes.make(tx, { rules: [{ key: name, before: toRule(before), after }] }, by)
      return after
    })
  }

  /**
   * Removes the rule from the store and from every group.
   * @returns whether it existed
   */
  remove(name: string, by?: Actor): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const before = await rules.get(tx, [name])
      if (before === undefined) return false
      const deleted = { key: name, before: toRule(before), after: undefined }
      await this.#changes.make(tx, { rules: [deleted], groups: await groupsWithout(tx, name) }, by)
      return true
    })
  }
}

/** The groups of a deleted rule. A scan is enough, because instances have few groups. */
const groupsWithout = async (tx: WriteContext, rule: string) => {
  const changed: Difference<string, readonly string[]>[] = []
  for await (const { name, rules: before } of groups.all(tx))
    if (before.includes(rule))
      changed.push({ key: name, before, after: before.filter((other) => other !== rule) })
  return changed
}
