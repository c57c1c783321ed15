/** @jsxRuntime automatic @jsxImportSource preact */
import { formatExactLimit, parseLimit } from '../byte-sizes.ts'
import { AllotError, invalid } from '../errors.ts'
import type { QuotaRule } from '../quota/evaluate.ts'
import { type Subject, subjects } from '../quota/subjects.ts'
import type { NamedPlan } from '../repositories/named-quota.ts'
import { AdminNav, adminForm, adminPage } from './admin.tsx'
import { ActionButtons, FlashMessage, Post, SubjectCode, Table } from './components.tsx'
import { type Form, type PageContext, type PageServices, page, type View } from './route.ts'

/** Rules and groups are few: one page lists all of them. */
export const ALL = { offset: 0, limit: 1000 }

export const ruleRoutes = [
  page({
    ...adminPage,
    path: '/-/admin/rules',
    handle: ({ frame, query }, services) => listRules(services, frame, { done: query.get('done') }),
  }),
  adminForm('/-/admin/rules', async ({ form, frame }, services) => {
    const values = valuesIn(form)
    return {
      plan: () => ({ rules: [ruleFrom(values)] }),
      async apply() {
        await services.quota.rules.create(ruleFrom(values))
        return '/-/admin/rules?done=created'
      },
      showAgain: (failure) => listRules(services, frame, { values, failure }),
    }
  }),
  page({
    ...adminPage,
    path: '/-/admin/rule',
    handle: async ({ frame, query }, services) =>
      ruleView(frame, { rule: await findRule(services, query.get('name') ?? ''), done: query.get('done') }),
  }),
  adminForm('/-/admin/rule', async ({ form, frame }, services) => {
    const rule = await findRule(services, form.text('name'))
    const values = valuesIn(form)
    return {
      plan: () => ({ rules: [editedRule(rule, values)] }),
      async apply() {
        const { limit, subjects } = editedRule(rule, values)
        await services.quota.rules.edit(rule.name, { limit, subjects })
        return `${rulePath(rule.name)}&done=saved`
      },
      showAgain: (failure) => ruleView(frame, { rule, values, failure }),
    }
  }),
  adminForm('/-/admin/rule/delete', async ({ form, frame }, services) => {
    const rule = await findRule(services, form.text('name'))
    return {
      plan: () => planWithoutRule(services, rule.name),
      async apply() {
        await services.quota.rules.remove(rule.name)
        return '/-/admin/rules?done=deleted'
      },
      showAgain: (failure) => ruleView(frame, { rule, failure }),
    }
  }),
]

export const rulePath = (name: string): string => `/-/admin/rule?name=${encodeURIComponent(name)}`

const findRule = async ({ quota }: PageServices, name: string): Promise<QuotaRule> => {
  const rule = await quota.rules.get(name)
  if (rule === undefined) throw new AllotError('not_found', `there is no rule named ${name}`)
  return rule
}

/** The fields of a rule, as text. */
interface RuleFormValues {
  readonly name: string
  readonly limit: string
  readonly subjects: readonly string[]
}

const valuesIn = (form: Form): RuleFormValues => ({
  name: form.text('name'),
  limit: form.text('limit'),
  subjects: form.all('subject'),
})

const ruleFrom = ({ name, limit, subjects }: RuleFormValues): QuotaRule => ({
  name,
  limit: limitFrom(limit),
  // The quota engine rejects unknown subjects.
  subjects: subjects as Subject[],
})

/**
 * Accepts `unlimited`, grouped digits (`1,000,000`) and units in any case, besides what the configuration accepts.
 * @throws AllotError invalid
 */
const limitFrom = (text: string): number => {
  if (/^unlimited$/i.test(text)) return -1
  const digits = text.replace(/(?<=\d)[,_ ](?=\d{3})/g, '')
  const limit = parseLimit(digits.replace(/ ?([kmgt])ib$/i, (_, unit: string) => ` ${unit.toUpperCase()}iB`))
  if (limit !== undefined) return limit
  throw invalid(`limit: expected a size such as 2 GiB, a number of bytes, or "unlimited", got "${text}"`)
}

/** A checkbox cannot show that a rule lists a subject twice: keeps such a list while no box changes. */
const editedRule = (rule: QuotaRule, values: RuleFormValues): QuotaRule => {
  const edited = ruleFrom({ ...values, name: rule.name })
  const distinct = (subjects: readonly Subject[]) => [...new Set(subjects)].sort().join()
  const isUnchanged = distinct(rule.subjects) === distinct(edited.subjects)
  return isUnchanged ? { ...edited, subjects: rule.subjects } : edited
}

/** Deleting a rule removes it from its groups. */
const planWithoutRule = async ({ quota }: PageServices, name: string): Promise<NamedPlan> => {
  const { items } = await quota.groups.list(ALL)
  return {
    groups: items
      .map((group) => ({ name: group.name, rules: group.rules.map((rule) => rule.name) }))
      .filter(({ rules }) => rules.includes(name))
      .map((group) => ({ ...group, rules: group.rules.filter((rule) => rule !== name) })),
  }
}

const EMPTY: RuleFormValues = { name: '', limit: '', subjects: ['size:all'] }

const listRules = async (
  { quota }: PageServices,
  frame: PageContext,
  { values = EMPTY, ...message }: { values?: RuleFormValues } & FlashMessage,
): Promise<View> => {
  const { items: rules } = await quota.rules.list(ALL)
  return {
    title: 'Rules',
    body: (
      <>
        <h1>Rules</h1>
        <AdminNav frame={frame} />
        <FlashMessage {...message} />
        <p>A rule is met while the total size of its subjects is below its limit.</p>
        {rules.length === 0 ? <p>No rules.</p> : <RuleTable frame={frame} rules={rules} />}
        <section aria-labelledby="new">
          <h2 id="new">New rule</h2>
          <Post frame={frame} to="/-/admin/rules" class="stacked">
            <label for="name">Name</label>
            <input id="name" name="name" value={values.name} maxLength={255} required />
            <LimitAndSubjects values={values} />
            <ActionButtons label="Create" />
          </Post>
        </section>
      </>
    ),
  }
}

const RuleTable = ({ frame, rules }: { frame: PageContext; rules: readonly QuotaRule[] }) => (
  <Table column="Rule" numbers={['Limit']}>
    {rules.map(({ name, limit, subjects }) => (
      <tr key={name}>
        <td>
          <a href={frame.at(rulePath(name))}>{name}</a>
          <div class="small">{subjects.join(', ') || 'no subjects'}</div>
        </td>
        <td class="number">{formatExactLimit(limit)}</td>
      </tr>
    ))}
  </Table>
)

const ruleView = (
  frame: PageContext,
  { rule, values, ...message }: { rule: QuotaRule; values?: RuleFormValues } & FlashMessage,
): View => ({
  title: `Rule ${rule.name}`,
  body: (
    <>
      <h1>Rule {rule.name}</h1>
      <AdminNav frame={frame} />
      <FlashMessage {...message} />
      <Post frame={frame} to="/-/admin/rule" class="stacked">
        <input type="hidden" name="name" value={rule.name} />
        <LimitAndSubjects values={values ?? { ...rule, limit: formatExactLimit(rule.limit) }} />
        <ActionButtons label="Save" />
      </Post>
      <section aria-labelledby="delete">
        <h2 id="delete">Delete rule</h2>
        <p>The rule is removed from its groups.</p>
        <Post frame={frame} to="/-/admin/rule/delete">
          <input type="hidden" name="name" value={rule.name} />
          <ActionButtons label="Delete rule" isDangerous />
        </Post>
      </section>
    </>
  ),
})

const LimitAndSubjects = ({ values }: { values: RuleFormValues }) => (
  <>
    <label for="limit">Limit</label>
    <input id="limit" name="limit" value={values.limit} required aria-describedby="limit-hint" />
    <p class="hint" id="limit-hint">
      A size such as 2 GiB, a number of bytes, or “unlimited”.
    </p>
    <fieldset>
      <legend>Subjects</legend>
      {subjects.map((subject) => (
        <label key={subject} class="box">
          <input type="checkbox" name="subject" value={subject} checked={values.subjects.includes(subject)} />
          <SubjectCode subject={subject} />
        </label>
      ))}
    </fieldset>
  </>
)
