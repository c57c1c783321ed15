/**
 * Forms of administrators about accounts: create, edit, disable, delete, a new password, and a token that is
 * shown once.
 */
import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import { OwnerError } from '../../content/removal.ts'
import { AllotError, invalid, invalidMember } from '../../errors.ts'
import { type Account, Visibility } from '../../records/schema/index.ts'
import { accountPath } from '../parts/components.tsx'
import { checkConfirmation, hasConfirmation, typedIn } from '../parts/confirmation.tsx'
import type { Form } from '../parts/form.ts'
import type { Refusal } from '../parts/labels.ts'
import { passwordLinkPath } from '../parts/password-link.ts'
import {
  type PageReply,
  type PageRequest,
  type PageServices,
  page,
  type Refusals,
  refusedForm,
} from '../parts/route.ts'
import { passwordLinkView } from '../people/set-password.tsx'
import { checkChosenScopes, createdView } from '../people/tokens.tsx'
import { confirmationOf, deletionView } from './account-deletion.tsx'
import { adminAccountView, CRUMBS } from './account-views.tsx'
import { adminPage } from './form.tsx'
import { newAccountView } from './new-account.tsx'

const REFUSALS: Refusals = { invalid: 422, conflict: 422, bad_request: 422, forbidden: 422 }

type AccountRequest = PageRequest<never, Identity>

/** Declares a form about an account; when it is refused, its page is shown again with the message. */
const accountForm = (
  path: string,
  apply: (request: AccountRequest, services: PageServices, account: Account) => Promise<PageReply>,
) =>
  page({
    method: 'POST',
    path,
    auth: 'admin',
    scope: 'write:admin',
    async handle(request, services) {
      const account = await accountNamed(services, request.form.text('name'))
      try {
        const reply = await apply(request as unknown as AccountRequest, services, account)
        // A page in reply asks first, or shows a secret: no owner has changed.
        if ('to' in reply) services.hosting.ownerTable.changed()
        return reply
      } catch (error) {
        const { user, form } = request
        return refusedForm(error, REFUSALS, (failure) =>
          adminAccountView(services, user, account, { failure }, { path, form }),
        )
      }
    },
  })

const accountNamed = async ({ hosting }: PageServices, name: string): Promise<Account> => {
  const account = name === '' ? undefined : await hosting.accounts.byName(name)
  if (account === undefined) throw new AllotError('not_found', `there is no account named ${name}`)
  return account
}

export const accountFormPageRoutes = [
  page({
    ...adminPage,
    path: '/-/admin/accounts/new',
    handle: async ({ query }) => newAccountView(kindIn(query.get('kind')), {}),
  }),
  page({
    ...adminPage,
    method: 'POST',
    path: '/-/admin/accounts/new',
    scope: 'write:admin',
    async handle(request, services) {
      const { form, user } = request
      const kind = kindIn(form.text('kind'))
      try {
        const { name } =
          kind === 'user'
            ? await createUser(request as unknown as AccountRequest, services)
            : await createOrganization(form, services, user)
        services.hosting.ownerTable.changed()
        return { to: `${accountPath(name)}&done=created` }
      } catch (error) {
        return refusedForm(error, REFUSALS, (failure) => newAccountView(kind, { failure }, form))
      }
    },
  }),
  page({
    ...adminPage,
    path: '/-/admin/account',
    async handle({ query, user }, services) {
      const account = await accountNamed(services, query.get('name') ?? '')
      return adminAccountView(services, user, account, { done: query.get('done') })
    },
  }),
  accountForm('/-/admin/account', async ({ form, user }, { hosting }, account) => {
    const isUser = account.kind === 'user'
    const admin = form.text('admin') !== ''
    if (isUser && !admin && account.id === user.id)
      throw invalidMember(
        'administrator',
        'you cannot take this right from yourself, another administrator can',
      )
    await hosting.accounts.edit(
      account.id,
      {
        fullName: form.text('fullName'),
        description: form.text('description'),
        visibility: visibilityIn(form),
        ...(isUser ? { email: form.text('email'), admin } : {}),
      },
      { by: user },
    )
    return { to: `${accountPath(account.name)}&done=saved` }
  }),
  accountForm('/-/admin/account/active', async ({ form, user }, { hosting }, account) => {
    const active = form.text('active') === 'yes'
    if (!active && account.id === user.id) throw invalid('you cannot disable your own account')
    await hosting.accounts.edit(account.id, { active }, { by: user })
    return { to: `${accountPath(account.name)}&done=${active ? 'enabled' : 'disabled'}` }
  }),
  accountForm('/-/admin/account/password', async ({ form, user, client }, { hosting }, account) => {
    if (account.kind !== 'user') throw invalid('an organization has no password')
    await hosting.accounts.edit(account.id, { password: form.raw('password') }, { client, by: user })
    return { to: `${accountPath(account.name)}&done=saved` }
  }),
  accountForm('/-/admin/account/password-link', async ({ user, pagesUrl }, { hosting }, account) => {
    const link = await hosting.passwordLinks.create(account.id, user)
    if (link === undefined) throw new AllotError('not_found', `${account.name} was deleted meanwhile`)
    return passwordLinkView(account.name, pagesUrl + passwordLinkPath(link), crumbsOf(account.name))
  }),
  accountForm('/-/admin/account/token', async ({ form, user }, { hosting }, account) => {
    if (account.kind !== 'user') throw invalid('an organization has no tokens')
    const scopes = form.all('scope')
    checkChosenScopes(user, scopes)
    const { secret } = await hosting.tokens.create(account.id, form.text('token'), scopes, user)
    return createdView(account.name, form.text('token'), secret, crumbsOf(account.name))
  }),
  accountForm('/-/admin/account/delete', async ({ form, user }, services, account) => {
    if (account.id === user.id) throw invalid('you cannot delete your own account')
    if (!hasConfirmation(form)) return deletionView(services, user, account)
    const purge = form.text('purge') !== ''
    try {
      checkConfirmation(form, confirmationOf(account))
      await services.hosting.accounts.remove(account.id, { purge, by: user })
    } catch (error) {
      return refusedForm(error, { invalid: 422, conflict: 422 }, (refusal) => {
        const failure = error instanceof OwnerError ? obstacleOf(error, account) : refusal
        return deletionView(services, user, account, { failure, typed: typedIn(form), isTicked: purge })
      })
    }
    return { to: '/-/admin/owners?done=deleted' }
  }),
]

/** What keeps an account from being deleted alone, which the page lists. */
const obstacleOf = ({ obstacle }: OwnerError, { kind }: Account): Refusal => {
  const text =
    obstacle === 'organization'
      ? 'is the only owner of an organization that it founded'
      : `still owns ${obstacle}`
  return { field: undefined, problem: `this ${kind} ${text}; what must go first is listed below` }
}

const crumbsOf = (name: string) => [...CRUMBS, { name, to: accountPath(name) }]

const kindIn = (text: string | null): Account['kind'] => (text === 'organization' ? 'organization' : 'user')

const visibilityIn = (form: Form): Visibility => {
  const visibility = form.text('visibility')
  if (v.is(Visibility, visibility)) return visibility
  throw invalidMember('visibility', `expected one of ${Visibility.options.join(', ')}, got "${visibility}"`)
}

const createUser = (
  { form, client, user: by }: AccountRequest,
  { hosting }: PageServices,
): Promise<Account> => {
  const password = form.raw('password')
  return hosting.accounts.createUser(
    {
      name: form.text('name'),
      fullName: form.text('fullName'),
      email: form.text('email'),
      visibility: visibilityIn(form),
      admin: form.text('admin') !== '',
      ...(password === '' ? {} : { password }),
    },
    { client, by },
  )
}

const createOrganization = async (form: Form, { hosting }: PageServices, by: Identity): Promise<Account> => {
  const ownerName = form.text('owner')
  const owner = ownerName === '' ? undefined : await hosting.accounts.byName(ownerName)
  if (ownerName !== '' && owner?.kind !== 'user')
    throw invalidMember('owner', `there is no user named "${ownerName}"`)
  return hosting.organizations.create(
    owner?.id,
    {
      name: form.text('name'),
      fullName: form.text('fullName'),
      description: form.text('description'),
      visibility: visibilityIn(form),
    },
    by,
  )
}
