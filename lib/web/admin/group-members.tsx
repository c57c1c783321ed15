/** The owners that a group is assigned to, with the forms that assign it and remove it. */
import type { Account } from '../../records/schema/index.ts'
import {
  ActionButtons,
  formatCount,
  groupPath,
  Post,
  PREVIEW,
  Section,
  StrongLink,
  useEntered,
} from '../parts/components.tsx'
import { FieldFailure, useInvalid } from '../parts/fields.tsx'
import { labelOf } from '../parts/labels.ts'
import { EmptyPage, Pages } from '../parts/paging.tsx'

interface MembersProps {
  group: string
  /** A page of the owners that the group is assigned to. */
  members: readonly Account[]
  page: number
  total: number
  isDefault: boolean
}

export const Members = ({ group, members, page, total, isDefault }: MembersProps) => (
  <Section
    id="members"
    title="Assigned to"
    about={
      isDefault ? 'A default group: it also applies to every owner without an assigned group.' : undefined
    }
    aside={<span class="small">{total === 0 ? 'no owner' : formatCount(total, 'owner')}</span>}
  >
    {members.length > 0 && (
      <Post to="/-/admin/group/members" fields={{ name: group, do: PREVIEW }}>
        <ul class="plain rows">
          {members.map(({ name }) => (
            <li key={name} class="line">
              <StrongLink to={`/-/storage/${name}`}>{name}</StrongLink>
              <button
                type="submit"
                class="secondary small"
                name="remove"
                value={name}
                aria-label={`Remove ${name}`}
              >
                Remove…
              </button>
            </li>
          ))}
        </ul>
      </Post>
    )}
    {members.length === 0 && <EmptyPage total={total} />}
    <Pages to={(number) => `${groupPath(group)}&page=${number}`} page={page} total={total} />
    <Post to="/-/admin/group/members" fields={{ name: group }} class="stacked more">
      <AssigneeField />
      <ActionButtons label="Assign" kind="secondary" />
    </Post>
  </Section>
)

const AssigneeField = () => (
  <>
    <label for="owner">{labelOf('assignee')}</label>
    <input
      id="owner"
      name="owner"
      value={useEntered()?.form.text('owner') ?? ''}
      autocapitalize="none"
      spellcheck={false}
      required
      {...useInvalid('assignee')}
    />
    <FieldFailure field="assignee" />
  </>
)
