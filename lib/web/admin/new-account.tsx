/** The page with the form that creates a user or an organization. */
import { MIN_PASSWORD_LENGTH } from '../../accounts/login.ts'
import type { Account } from '../../records/schema/index.ts'
import { FlashMessage, PageHead, Post, Section, usePageContext } from '../parts/components.tsx'
import { AdminBox, Field, Fields, Visibility } from '../parts/fields.tsx'
import type { Form } from '../parts/form.ts'
import type { Refusal } from '../parts/labels.ts'
import type { View } from '../parts/route.ts'
import { CRUMBS } from './account-views.tsx'
import { AdminTabs } from './form.tsx'

const PasswordField = ({ failure }: { failure: Refusal | undefined }) =>
  usePageContext().hasSessions ? (
    <Field
      failure={failure}
      name="password"
      type="password"
      hint={`At least ${MIN_PASSWORD_LENGTH} characters. Without a password, the user signs in with a token.`}
    />
  ) : null

/** @param form what was entered, when it was refused */
export const newAccountView = (kind: Account['kind'], message: FlashMessage, form?: Form): View => {
  const enteredIn = (name: string) => form?.text(name) ?? ''
  const title = `New ${kind}`
  const { failure } = message
  return {
    title,
    crumbs: CRUMBS,
    body: (
      <>
        <PageHead title={title} />
        <AdminTabs />
        <FlashMessage {...message} />
        <Section id="account" title="Account">
          <Post to="/-/admin/accounts/new" fields={{ kind }} class="stacked">
            <Fields>
              <Field
                failure={failure}
                name="name"
                value={enteredIn('name')}
                hint="Part of every URL; it cannot be changed here later."
                isRequired
              />
              <Field failure={failure} name="fullName" value={enteredIn('fullName')} />
            </Fields>
            {kind === 'user' ? (
              <Fields>
                <Field failure={failure} name="email" type="email" value={enteredIn('email')} />
                <PasswordField failure={failure} />
              </Fields>
            ) : (
              <>
                <Field failure={failure} name="description" value={enteredIn('description')} />
                <Field
                  failure={failure}
                  name="owner"
                  value={enteredIn('owner')}
                  hint="The user who owns the organization. Without an owner, administrators manage it."
                />
              </>
            )}
            <Visibility value={enteredIn('visibility') || 'public'} failure={failure} />
            {kind === 'user' && <AdminBox isChecked={enteredIn('admin') !== ''} failure={failure} />}
            <button type="submit">Create {kind}</button>
          </Post>
        </Section>
      </>
    ),
  }
}
