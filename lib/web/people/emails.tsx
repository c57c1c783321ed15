/** The email addresses of the user: the one of the account, and further ones that the user adds. */
import type { Identity } from '../../accounts/access.ts'
import { AllotError } from '../../errors.ts'
import { Count, Empty, FlashMessage, Post, Section } from '../parts/components.tsx'
import { confirmationPage } from '../parts/confirmation.tsx'
import { Field } from '../parts/fields.tsx'
import { type PageServices, page, refusedForm, type View } from '../parts/route.ts'
import { SettingsHead, settingsForm, settingsPage } from './settings.tsx'

const PATH = '/-/settings/emails'

export const emailPageRoutes = [
  page({
    ...settingsPage,
    path: PATH,
    handle: ({ user, query }, services) => emailsView(services, user, { done: query.get('done') }),
  }),
  page({
    ...settingsForm,
    path: PATH,
    async handle({ user, form }, services) {
      const email = form.text('email')
      try {
        await services.hosting.emails.add(user.id, [email])
      } catch (error) {
        return refusedForm(
          error,
          { invalid: 422, conflict: 409 },
          (failure) => emailsView(services, user, { failure }, email),
          { emails: 'email' },
        )
      }
      return { to: `${PATH}?done=added` }
    },
  }),
  page({
    ...settingsForm,
    path: `${PATH}/remove`,
    async handle({ user, form }, { hosting }) {
      const email = form.text('email')
      if (form.text('confirmed') === '') return confirmation(email)
      if (!(await hosting.emails.remove(user.id, [email])))
        throw new AllotError('not_found', 'this address is already removed')
      return { to: `${PATH}?done=removed` }
    },
  }),
]

/** @param entered the address that the form was refused for */
const emailsView = async (
  { hosting }: PageServices,
  user: Identity,
  message: FlashMessage,
  entered = '',
): Promise<View> => ({
  title: 'Email addresses',
  body: (
    <>
      <SettingsHead
        title="Email addresses"
        subtitle="Commits with one of these addresses show as yours. The list is not shown to others."
      />
      <FlashMessage {...message} />
      <Addresses emails={await hosting.emails.list(user.id)} />
      <Section id="new" title="Add an address">
        <Post to={PATH} class="stacked">
          <Field
            name="email"
            type="email"
            value={entered}
            hint="Nothing is sent to it."
            isRequired
            failure={message.failure}
          />
          <button type="submit">Add address</button>
        </Post>
      </Section>
    </>
  ),
})

const Addresses = ({ emails }: { emails: readonly { email: string; isPrimary: boolean }[] }) => (
  <Section
    id="addresses"
    title="Your addresses"
    aside={<Count of={emails.length} singular="address" plural="addresses" />}
  >
    {emails.length === 0 ? (
      <Empty title="No addresses">
        <p>Add the address that your commits have.</p>
      </Empty>
    ) : (
      <ul class="plain rows">
        {emails.map(({ email, isPrimary }) => (
          <li key={email} class="line">
            <bdi>{email}</bdi>
            {isPrimary ? (
              <span class="small">Signs in, and is changed by administrators</span>
            ) : (
              <Post to={`${PATH}/remove`} fields={{ email }}>
                <button type="submit" class="secondary small" aria-label={`Remove ${email}…`}>
                  Remove…
                </button>
              </Post>
            )}
          </li>
        ))}
      </ul>
    )}
  </Section>
)

const confirmation = (email: string): View =>
  confirmationPage({
    title: 'Remove this address?',
    name: email,
    crumb: { name: 'Email addresses', to: PATH },
    effect: 'Commits with the address no longer show as yours, and others can add it.',
    to: `${PATH}/remove`,
    fields: { email },
    button: 'Remove address',
    isUndoable: true,
  })
