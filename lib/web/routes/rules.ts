import { AllotError } from '../../errors.ts'
import type { NamedPlan } from '../../hosting/named-plans.ts'
import type { QuotaRule } from '../../quota/evaluate.ts'
import type { Subject } from '../../quota/subjects.ts'
import { runAdminAction } from '../admin-action.ts'
import type { Form } from '../form.ts'
import { type PageServices, page } from '../route.ts'
import { type RuleFormValues, rulesView, ruleView } from '../rules.tsx'
import { parseLimit } from '../size-input.ts'
import { change, read } from './admin.ts'

/** There are few rules and groups: all of them are on one page. */
const ALL = { offset: 0, limit: 1000 }

const givenIn = (form: Form): RuleFormValues => ({
  name: form.text('name'),
  limit: form.text('limit'),
  subjects: form.all('subject'),
})

/** The engine says which subject it does not know. */
const ruleIn = ({ name, limit, subjects }: RuleFormValues): QuotaRule => ({
  name,
  limit: parseLimit(limit),
  subjects: subjects as Subject[],
})

const existing = async ({ quota }: PageServices, name: string): Promise<QuotaRule> => {
  const rule = await quota.rules.get(name)
  if (rule === undefined) throw new AllotError('not_found', `there is no rule named ${name}`)
  return rule
}

/** A box says once that a subject is counted: a list that says it more often stays as it is while no box is changed. */
const edited = (before: QuotaRule, given: RuleFormValues): QuotaRule => {
  const after = ruleIn({ ...given, name: before.name })
  const isSame = (one: readonly string[], other: readonly string[]) =>
    one.every((each) => other.includes(each))
  const isKept = isSame(before.subjects, after.subjects) && isSame(after.subjects, before.subjects)
  return isKept ? { ...after, subjects: before.subjects } : after
}

/** What the deletion of a rule comes to: it leaves its groups. */
const withoutRule = async ({ quota }: PageServices, name: string): Promise<NamedPlan> => {
  const { items } = await quota.groups.list(ALL)
  const having = items.filter(({ rules }) => rules.some((rule) => rule.name === name))
  return {
    groups: having.map((group) => ({
      name: group.name,
      rules: group.rules.map((rule) => rule.name).filter((other) => other !== name),
    })),
  }
}

export const ruleRoutes = [
  page({
    ...read,
    path: '/-/admin/rules',
    handle: async ({ frame, query }, { quota }) =>
      rulesView(frame, { rules: (await quota.rules.list(ALL)).items, said: query.get('said') }),
  }),
  page({
    ...change,
    path: '/-/admin/rules',
    async handle({ form, frame, user }, services) {
      const { quota } = services
      const given = givenIn(form)
      return runAdminAction(services, {
        ...{ form, frame, user, path: '/-/admin/rules' },
        plan: () => ({ rules: [ruleIn(given)] }),
        async apply() {
          await quota.rules.create(ruleIn(given))
          return { to: '/-/admin/rules?said=created' }
        },
        showAgain: async (failure) =>
          rulesView(frame, { rules: (await quota.rules.list(ALL)).items, given, failure }),
      })
    },
  }),
  page({
    ...read,
    path: '/-/admin/rule',
    handle: async ({ frame, query }, services) =>
      ruleView(frame, { rule: await existing(services, query.get('name') ?? ''), said: query.get('said') }),
  }),
  page({
    ...change,
    path: '/-/admin/rule',
    async handle({ form, frame, user }, services) {
      const rule = await existing(services, form.text('name'))
      const given = givenIn(form)
      return runAdminAction(services, {
        ...{ form, frame, user, path: '/-/admin/rule' },
        plan: () => ({ rules: [edited(rule, given)] }),
        async apply() {
          const { limit, subjects } = edited(rule, given)
          await services.quota.rules.edit(rule.name, { limit, subjects })
          return { to: `/-/admin/rule?name=${encodeURIComponent(rule.name)}&said=saved` }
        },
        showAgain: (failure) => ruleView(frame, { rule, given, failure }),
      })
    },
  }),
  page({
    ...change,
    path: '/-/admin/rule/delete',
    async handle({ form, frame, user }, services) {
      const rule = await existing(services, form.text('name'))
      return runAdminAction(services, {
        ...{ form, frame, user, path: '/-/admin/rule/delete' },
        plan: () => withoutRule(services, rule.name),
        async apply() {
          await services.quota.rules.remove(rule.name)
          return { to: '/-/admin/rules?said=deleted' }
        },
        showAgain: (failure) => ruleView(frame, { rule, failure }),
      })
    },
  }),
]
