/** @jsxRuntime automatic @jsxImportSource preact */
/** The page with the form that creates a user or an organization. */
import type { Account } from '../../records/schema/index.ts'
import { FlashMessage, PageHead, Post, Section } from '../parts/components.tsx'
import { AdminBox, Field, Visibility } from '../parts/fields.tsx'
import type { Form } from '../parts/form.ts'
import type { View } from '../parts/route.ts'
import { CRUMBS } from './account-views.tsx'
import { AdminTabs } from './form.tsx'

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
          <Post to="/-/admin/accounts/new" fields={[['kind', kind]]} class="stacked">
            <Field
              failure={failure}
              id="name"
              label="Name"
              value={enteredIn('name')}
              hint="Part of every URL; it cannot be changed here later."
              isRequired
            />
            <Field failure={failure} id="fullName" label="Display name" value={enteredIn('fullName')} />
            {kind === 'user' ? (
              <>
                <Field failure={failure} id="email" label="Email" type="email" value={enteredIn('email')} />
                <Field
                  failure={failure}
                  id="password"
                  label="Password"
                  type="password"
                  hint="At least 8 characters. Without one, the user signs in with a token."
                />
              </>
            ) : (
              <>
                <Field
                  failure={failure}
                  id="description"
                  label="Description"
                  value={enteredIn('description')}
                />
                <Field
                  failure={failure}
                  id="owner"
                  label="Owner"
                  value={enteredIn('owner')}
                  hint="The user who owns it; without one, administrators manage it."
                />
              </>
            )}
            <Visibility value={enteredIn('visibility') || 'public'} />
            {kind === 'user' && <AdminBox isChecked={enteredIn('admin') !== ''} />}
            <button type="submit">Create {kind}</button>
          </Post>
        </Section>
      </>
    ),
  }
}
