/** Views of the pages of administrators about one account. */

import type { Identity } from '../../accounts/access.ts'
import { MIN_PASSWORD_LENGTH } from '../../accounts/login.ts'
import { LINK_DAYS } from '../../accounts/own-passwords.ts'
import type { QuotaExplanation } from '../../quota/evaluate.ts'
import type { Account } from '../../records/schema/index.ts'
import {
  groupPath,
  Link,
  PageHead,
  Post,
  rulePath,
  Section,
  Size,
  Submit,
  unbrokenLimit,
  unbrokenSize,
  usePageContext,
} from '../parts/components.tsx'
import { AdminBox, Field, Fields, NameField, Visibility } from '../parts/fields.tsx'
import { Table } from '../parts/list.tsx'
import type { PageServices, View } from '../parts/route.ts'
import { subjectTexts } from '../parts/subject-names.ts'
import { Avatar } from '../people/account-parts.tsx'
import { ScopeFields } from '../people/tokens.tsx'
import { ADMINISTRATION, adminView } from './form.tsx'

/** The pages above that of an account. */
export const CRUMBS = [ADMINISTRATION, { name: 'Owners', to: '/-/admin/owners' }]

export const adminAccountView = async (
  { quota }: PageServices,
  user: Identity,
  account: Account,
): Promise<View> => {
  const explanation = await quota.explain(account.id)
  const { name, kind, active } = account
  return adminView(
    `Account ${name}`,
    <>
      <Why explanation={explanation} />
      <Profile account={account} />
      {kind === 'user' && <Access user={user} name={name} />}
      <Danger account={account} isOwn={account.id === user.id} />
    </>,
    CRUMBS,
    <PageHead
      title={<bdi>{name}</bdi>}
      subtitle={`${kind === 'user' ? 'User' : 'Organization'}${active ? '' : ', disabled'}`}
      picture={<Avatar name={name} size="medium" />}
    >
      <Link class="button secondary" to={`/-/storage/${name}`}>
        View storage
      </Link>
    </PageHead>,
  )
}

const Profile = ({ account }: { account: Account }) => (
  <Section id="profile" title="Profile">
    <Post to="/-/admin/account" fields={{ name: account.name }} class="stacked">
      <Fields>
        <Field name="fullName" value={account.fullName} />
        {account.kind === 'user' && <Field name="email" value={account.email} type="email" />}
      </Fields>
      <Field name="description" value={account.description} />
      <Visibility value={account.visibility} />
      {account.kind === 'user' && <AdminBox isChecked={account.admin} />}
      <button type="submit">Save</button>
    </Post>
  </Section>
)

/** What the user can sign in with here. */
const Access = (props: { user: Identity; name: string }) => {
  const { hasSessions, hasTokens } = usePageContext()
  if (!hasSessions && !hasTokens) return null
  return (
    <Section id="access" title="Access">
      {hasSessions && <PasswordForms {...props} />}
      {hasTokens && <TokenForm {...props} />}
    </Section>
  )
}

const PasswordForms = ({ name }: { name: string }) => (
  <>
    <Post to="/-/admin/account/password" fields={{ name }} class="stacked">
      <Field
        name="password"
        type="password"
        hint={`At least ${MIN_PASSWORD_LENGTH} characters. Setting a new password ends all sessions that began with the previous password.`}
        isRequired
      />
      <Submit kind="secondary">Set password</Submit>
    </Post>
    <Post to="/-/admin/account/password-link" fields={{ name }} class="stacked">
      <p class="small">
        Or let {name} choose a password with a link that works once, within {LINK_DAYS} days.
      </p>
      <Submit kind="secondary">Create a link</Submit>
    </Post>
  </>
)

const TOKEN = '/-/admin/account/token'

const TokenForm = ({ user, name }: { user: Identity; name: string }) => (
  <details class="more" open={usePageContext().entered?.path === TOKEN}>
    <summary>Create a token for {name}</summary>
    <Post to={TOKEN} fields={{ name }} class="stacked">
      <NameField id="token" hint="The token is shown once, on the next page." />
      <ScopeFields user={user} />
      <Submit kind="secondary">Create token</Submit>
    </Post>
  </details>
)

const Danger = ({ account: { name, kind, active }, isOwn }: { account: Account; isOwn: boolean }) =>
  isOwn ? null : (
    <Section
      id="danger"
      title={`Disable or delete the ${kind}`}
      about={
        active
          ? 'A disabled account keeps everything, and nobody can sign in with it.'
          : 'The account is disabled: nobody can sign in with it.'
      }
    >
      <div class="stacked row">
        <Post to="/-/admin/account/active" fields={{ name, active: active ? '' : 'yes' }}>
          <Submit kind="secondary">{active ? 'Disable' : 'Enable'}</Submit>
        </Post>
        <Post to="/-/admin/account/delete" fields={{ name }}>
          <Submit kind="danger">Delete {kind}…</Submit>
        </Post>
      </div>
    </Section>
  )

const RuleState = ({ isWithin }: { isWithin: boolean }) => (
  <span class={`state ${isWithin ? 'within' : 'over'}`}>{isWithin ? 'Within limit' : 'Over limit'}</span>
)

/** Each rule that applies, and whether usage is below its limit: why the owner is over quota, or is not. */
const Why = ({ explanation }: { explanation: QuotaExplanation }) => {
  const { groups, over, subject, rule } = explanation
  return (
    <Section id="why" title="Limits">
      <p>
        {rule === null ? (
          'No rule limits this owner.'
        ) : (
          <>
            {over ? 'Over quota' : 'Within quota'}: the rule <em>{rule}</em> decides, for{' '}
            {subjectTexts[subject].name.toLowerCase()}. Usage that reaches the limit counts as over.
          </>
        )}
      </p>
      {groups.length > 0 && (
        <Table
          items={groups.flatMap((group) => group.rules.map((rule) => ({ ...rule, group: group.name })))}
          keyOf={({ group, name }) => `${group} ${name}`}
          columns={[
            {
              head: 'Rule',
              cell: ({ group, name, subjects, stands }) => (
                <>
                  <Link to={rulePath(name)}>{name}</Link>{' '}
                  <span class="small">
                    of the group <Link to={groupPath(group)}>{group}</Link>
                  </span>
                  <div class="small">{subjects.map((one) => subjectTexts[one].name).join(', ')}</div>
                  <div class="slim">
                    <RuleState isWithin={stands} />
                  </div>
                </>
              ),
            },
            { head: 'State', class: 'wide', cell: ({ stands }) => <RuleState isWithin={stands} /> },
            { head: 'Usage', class: 'number', cell: ({ used }) => <Size bytes={used} /> },
            {
              head: 'Limit',
              class: 'number',
              cell: ({ limit }) => (limit < 0 ? unbrokenLimit(limit) : unbrokenSize(limit)),
            },
          ]}
        />
      )}
    </Section>
  )
}

const PasswordField = () =>
  usePageContext().hasSessions ? (
    <Field
      name="password"
      type="password"
      hint={`At least ${MIN_PASSWORD_LENGTH} characters. Without a password, the user signs in with a token.`}
    />
  ) : null

/** The page with the form that creates a user or an organization. */
export const newAccountView = (kind: Account['kind']): View =>
  adminView(
    `New ${kind}`,
    <Section id="account" title="Account">
      <Post to="/-/admin/accounts/new" fields={{ kind }} class="stacked">
        <Fields>
          <Field name="name" hint="Part of every URL; it cannot be changed here later." isRequired />
          <Field name="fullName" />
        </Fields>
        {kind === 'user' ? (
          <Fields>
            <Field name="email" type="email" />
            <PasswordField />
          </Fields>
        ) : (
          <>
            <Field name="description" />
            <Field
              name="owner"
              hint="The user who owns the organization. Without an owner, administrators manage it."
            />
          </>
        )}
        <Visibility value="public" />
        {kind === 'user' && <AdminBox />}
        <button type="submit">Create {kind}</button>
      </Post>
    </Section>,
    CRUMBS,
  )
