/** The page with the form that creates a user or an organization. */
import { MIN_PASSWORD_LENGTH } from '../../accounts/login.ts'
import type { Account } from '../../records/schema/index.ts'
import { Post, Section, usePageContext } from '../parts/components.tsx'
import { AdminBox, Field, Fields, Visibility } from '../parts/fields.tsx'
import type { View } from '../parts/route.ts'
import { CRUMBS } from './account-views.tsx'
import { adminView } from './form.tsx'

const PasswordField = () =>
  usePageContext().hasSessions ? (
    <Field
      name="password"
      type="password"
      hint={`At least ${MIN_PASSWORD_LENGTH} characters. Without a password, the user signs in with a token.`}
    />
  ) : null

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
