/** @jsxRuntime automatic @jsxImportSource preact */
import type { QuotaRule } from '../quota/evaluate.ts'
import { subjects } from '../quota/subjects.ts'
import { AdminNav } from './admin.tsx'
import { Buttons, FlashMessage } from './components.tsx'
import { Post } from './document.tsx'
import type { PageContext, View } from './route.ts'
import { formatLimit } from './size-input.ts'
import { SubjectCode } from './subject.tsx'

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
