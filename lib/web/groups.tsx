/** @jsxRuntime automatic @jsxImportSource preact */
import type { QuotaGroup } from '../quota/evaluate.ts'
import { AdminNav } from './admin.tsx'
import { Buttons, FlashMessage } from './components.tsx'
import { Post } from './document.tsx'
import { formatCount } from './format.ts'
import type { PageContext, View } from './route.ts'
import { ruleHref } from './rules.tsx'
import { Pages } from './usage-list.tsx'

export const groupsView = (
  frame: PageContext,
  { groups, name = '', ...told }: { groups: readonly QuotaGroup[]; name?: string } & FlashMessage,
): View => ({
  title: 'Groups',
  body: (
    <>
      <h1>Groups</h1>
      <AdminNav frame={frame} />
      <FlashMessage {...told} />
      <p>A group stands when all of its rules that cover a subject stand; one group that stands is enough.</p>
      {groups.length === 0 ? <p>There are none.</p> : <GroupTable frame={frame} groups={groups} />}
      <section aria-labelledby="new">
        <h2 id="new">A new group</h2>
        <Post frame={frame} to="/-/admin/groups" class="stacked">
          <label for="name">Name</label>
          <input id="name" name="name" value={name} maxLength={255} required />
          <button type="submit">Create</button>
        </Post>
      </section>
    </>
  ),
})

export const groupHref = (frame: PageContext, name: string, page = 1): string =>
  frame.at(`/-/admin/group?name=${encodeURIComponent(name)}${page === 1 ? '' : `&page=${page}`}`)

const GroupTable = ({ frame, groups }: { frame: PageContext; groups: readonly QuotaGroup[] }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Group</th>
        <th scope="col">Rules</th>
      </tr>
    </thead>
    <tbody>
      {groups.map(({ name, rules }) => (
        <tr key={name}>
          <td>
            <a href={groupHref(frame, name)}>{name}</a>
          </td>
          <td>{rules.map((rule) => rule.name).join(', ') || 'none'}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

export interface GroupData extends FlashMessage {
  readonly group: QuotaGroup
  /** The names of all rules that there are. */
  readonly rules: readonly string[]
  /** A page of the owners that it is assigned to. */
  readonly members: readonly string[]
  readonly total: number
  readonly number: number
  readonly size: number
}

export const groupView = (frame: PageContext, facts: GroupData): View => {
  const { name } = facts.group
  return {
    title: `Group ${name}`,
    body: (
      <>
        <h1>Group {name}</h1>
        <AdminNav frame={frame} />
        <FlashMessage said={facts.said} failure={facts.failure} />
        <Rules frame={frame} facts={facts} />
        <Members frame={frame} facts={facts} />
        <section aria-labelledby="delete">
          <h2 id="delete">Delete this group</h2>
          <p>It is taken from {formatCount(facts.total, 'owner')}; its rules stay.</p>
          <Post frame={frame} to="/-/admin/group/delete">
            <input type="hidden" name="name" value={name} />
            <button type="submit" class="grave">
              Delete the group
            </button>
          </Post>
        </section>
      </>
    ),
  }
}

const Rules = ({ frame, facts: { group, rules } }: { frame: PageContext; facts: GroupData }) => (
  <section aria-labelledby="rules">
    <h2 id="rules">Rules of the group</h2>
    <Post frame={frame} to="/-/admin/group">
      <input type="hidden" name="name" value={group.name} />
      <fieldset>
        <legend>Which rules it has</legend>
        {rules.length === 0 && <p>There are no rules yet.</p>}
        {rules.map((rule) => (
          <div key={rule} class="line">
            <label class="box">
              <input
                type="checkbox"
                name="rule"
                value={rule}
                checked={group.rules.some((one) => one.name === rule)}
              />
              {rule}
            </label>
            <a href={ruleHref(frame, rule)} aria-label={`see it: ${rule}`}>
              see it
            </a>
          </div>
        ))}
      </fieldset>
      <Buttons act="Save" />
    </Post>
  </section>
)

const Members = ({ frame, facts }: { frame: PageContext; facts: GroupData }) => {
  const { group, members, total, number, size } = facts
  return (
    <section aria-labelledby="members">
      <h2 id="members">Whom it is assigned to</h2>
      <p>{total === 0 ? 'Nobody.' : formatCount(total, 'owner')}</p>
      {members.length > 0 && (
        <Post frame={frame} to="/-/admin/group/members">
          <input type="hidden" name="name" value={group.name} />
          <ul class="plain rows">
            {members.map((member) => (
              <li key={member} class="line">
                <a href={frame.at(`/-/storage/${member}`)}>{member}</a>
                <button
                  type="submit"
                  class="quiet"
                  name="remove"
                  value={member}
                  aria-label={`Remove ${member}`}
                >
                  Remove
                </button>
              </li>
            ))}
          </ul>
        </Post>
      )}
      <Pages
        at={(page) => groupHref(frame, group.name, page)}
        number={number}
        last={Math.max(1, Math.ceil(total / size))}
        words={['Before', 'After']}
      />
      <Post frame={frame} to="/-/admin/group/members" class="stacked">
        <input type="hidden" name="name" value={group.name} />
        <label for="owner">Assign it to a user or an organization</label>
        <input id="owner" name="owner" autocapitalize="none" spellcheck={false} required />
        <Buttons act="Assign" />
      </Post>
    </section>
  )
}
