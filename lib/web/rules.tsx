import { AllotError } from '../errors.ts'
import type { NamedPlan } from '../hosting/named-plans.ts'
import type { QuotaRule } from '../quota/evaluate.ts'
import { type Subject, subjects } from '../quota/subjects.ts'
import { AdminNav, change, read } from './admin.tsx'
import { runAdminAction } from './admin-action.ts'
import { Buttons, FlashMessage, SubjectCode } from './components.tsx'
import { Post } from './document.tsx'
import type { Form } from './form.ts'
import { formatLimit, parseLimit } from './format.ts'
import { type PageContext, type PageServices, page, type View } from './route.ts'

/** @jsxRuntime automatic @jsxImportSource preact */

/** A rule as a form has it. */
export interface RuleFormValues {
  readonly name: string
  readonly limit: string
  readonly subjects: readonly string[]
}

const NEW: RuleFormValues = { name: '', limit: '', subjects: ['size:all'] }

export const rulesView = (
  frame: PageContext,
  { rules, given = NEW, ...told }: { rules: readonly QuotaRule[]; given?: RuleFormValues } & FlashMessage,
): View => ({
  title: 'Rules',
  body: (
    <>
      <h1>Rules</h1>
      <AdminNav frame={frame} />
      <FlashMessage {...told} />
      <p>A rule stands while the sum of its subjects is below its limit.</p>
      {rules.length === 0 ? <p>There are none.</p> : <RuleTable frame={frame} rules={rules} />}
      <section aria-labelledby="new">
        <h2 id="new">A new rule</h2>
        <Post frame={frame} to="/-/admin/rules" class="stacked">
          <label for="name">Name</label>
          <input id="name" name="name" value={given.name} maxLength={255} required />
          <Fields given={given} />
          <Buttons act="Create" />
        </Post>
      </section>
    </>
  ),
})

export const ruleHref = (frame: PageContext, name: string): string =>
  frame.at(`/-/admin/rule?name=${encodeURIComponent(name)}`)

const RuleTable = ({ frame, rules }: { frame: PageContext; rules: readonly QuotaRule[] }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Rule</th>
        <th scope="col" class="number">
          Limit
        </th>
      </tr>
    </thead>
    <tbody>
      {rules.map(({ name, limit, subjects: covered }) => (
        <tr key={name}>
          <td>
            <a href={ruleHref(frame, name)}>{name}</a>
            <div class="small">{covered.join(', ') || 'no subjects'}</div>
          </td>
          <td class="number">{formatLimit(limit)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

const Fields = ({ given }: { given: RuleFormValues }) => (
  <>
    <label for="limit">Limit</label>
    <input id="limit" name="limit" value={given.limit} required aria-describedby="limit-hint" />
    <p class="hint" id="limit-hint">
      Such as 2 GiB, a number of bytes, or unlimited.
    </p>
    <fieldset>
      <legend>Subjects</legend>
      {subjects.map((subject) => (
        <label key={subject} class="box">
          <input type="checkbox" name="subject" value={subject} checked={given.subjects.includes(subject)} />
          <SubjectCode subject={subject} />
        </label>
      ))}
    </fieldset>
  </>
)

export const ruleView = (
  frame: PageContext,
  { rule, given, ...told }: { rule: QuotaRule; given?: RuleFormValues } & FlashMessage,
): View => ({
  title: `Rule ${rule.name}`,
  body: (
    <>
      <h1>Rule {rule.name}</h1>
      <AdminNav frame={frame} />
      <FlashMessage {...told} />
      <Post frame={frame} to="/-/admin/rule" class="stacked">
        <input type="hidden" name="name" value={rule.name} />
        <Fields given={given ?? { ...rule, limit: formatLimit(rule.limit) }} />
        <Buttons act="Save" />
      </Post>
      <section aria-labelledby="delete">
        <h2 id="delete">Delete this rule</h2>
        <p>It leaves the groups that it is in.</p>
        <Post frame={frame} to="/-/admin/rule/delete">
          <input type="hidden" name="name" value={rule.name} />
          <Buttons act="Delete the rule" isGrave />
        </Post>
      </section>
    </>
  ),
})

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
