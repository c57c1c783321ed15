/**
 * Forms of administrators about accounts: create, edit, disable, delete, a new password, and a token that is
 * shown once.
 */
import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import { OwnerError } from '../../content/removal.ts'
import { AllotError, existing, invalid, invalidMember } from '../../errors.ts'
import { type Account, Visibility } from '../../records/schema/index.ts'
import { accountPath } from '../parts/components.tsx'
import { checkConfirmation } from '../parts/confirmation.tsx'
import type { Form } from '../parts/form.ts'
import { passwordLinkPath } from '../parts/password-link.ts'
import { type FormAction, form, type PageRequest, type PageServices, page } from '../parts/route.ts'
import { passwordLinkView } from '../people/set-password.tsx'
import { createdView, createToken } from '../people/tokens.tsx'
import { confirmationOf, deletionView } from './account-deletion.tsx'
import { adminAccountView, CRUMBS, newAccountView } from './account-views.tsx'
import { adminPage } from './form.tsx'

type AccountRequest = PageRequest<never, Identity>

type AccountAction = Pick<FormAction, 'run'> & Partial<FormAction>

/** Declares a form about an account; when it is refused, its page is shown again with the message. */
const accountForm = (
  path: string,
  prepare: (request: AccountRequest, services: PageServices, account: Account) => AccountAction,
) =>
  form({ path, auth: 'admin', scope: 'write:admin' }, async (request, services) => {
    const account = await accountNamed(services, request.form.text('name'))
    const action = prepare(request as AccountRequest, services, account)
    return {
      page: () => adminAccountView(services, request.user, account),
      ...action,
      async run() {
        const reply = await action.run()
        // A page in reply shows a secret: no owner has changed.
        if (typeof reply === 'string') services.hosting.ownerTable.changed()
        return reply
      },
    }
  })

const accountNamed = async ({ hosting }: PageServices, name: string): Promise<Account> => {
  return existing(
    name === '' ? undefined : await hosting.accounts.byName(name),
    `there is no account named ${name}`,
  )
}

export const accountFormPageRoutes = [
  page({
    ...adminPage,
    path: '/-/admin/accounts/new',
    handle: async ({ query }) => newAccountView(kindIn(query.get('kind'))),
  }),
  form({ path: '/-/admin/accounts/new', auth: 'admin', scope: 'write:admin' }, (request, services) => {
    const kind = kindIn(request.form.text('kind'))
    return {
      async run() {
        const create = kind === 'user' ? createUser : createOrganization
        const { name } = await create(request as AccountRequest, services)
        services.hosting.ownerTable.changed()
        return `${accountPath(name)}&done=created`
      },
      page: () => newAccountView(kind),
    }
  }),
  page({
    ...adminPage,
    path: '/-/admin/account',
    async handle({ query, user }, services) {
      return adminAccountView(services, user, await accountNamed(services, query.get('name') ?? ''))
    },
  }),
  accountForm('/-/admin/account', ({ form, user }, { hosting }, account) => ({
    async run() {
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
      return `${accountPath(account.name)}&done=saved`
    },
  })),
  accountForm('/-/admin/account/active', ({ form, user }, { hosting }, account) => ({
    async run() {
      const active = form.text('active') === 'yes'
      if (!active && account.id === user.id) throw invalid('you cannot disable your own account')
      await hosting.accounts.edit(account.id, { active }, { by: user })
      return `${accountPath(account.name)}&done=${active ? 'enabled' : 'disabled'}`
    },
  })),
  accountForm('/-/admin/account/password', ({ form, user, client }, { hosting }, account) => ({
    async run() {
      if (account.kind !== 'user') throw invalid('an organization has no password')
      await hosting.accounts.edit(account.id, { password: form.raw('password') }, { client, by: user })
      return `${accountPath(account.name)}&done=saved`
    },
  })),
  accountForm('/-/admin/account/password-link', ({ user, pagesUrl }, { hosting }, { id, name }) => ({
    async run() {
      const link = existing(await hosting.passwordLinks.create(id, user), `${name} was deleted meanwhile`)
      return passwordLinkView(name, pagesUrl + passwordLinkPath(link), crumbsOf(name))
    },
  })),
  accountForm('/-/admin/account/token', (request, services, { id, kind, name }) => ({
    async run() {
      if (kind !== 'user') throw invalid('an organization has no tokens')
      const token = request.form.text('token')
      const { secret } = await createToken(services, request, id, token)
      return createdView(name, token, secret, crumbsOf(name))
    },
  })),
  accountForm('/-/admin/account/delete', ({ form, user }, services, account) => {
    const isOwn = account.id === user.id
    const page = () => deletionView(services, user, account)
    return {
      asks: () => (isOwn ? undefined : page()),
      ...(!isOwn && { page }),
      async run() {
        if (isOwn) throw invalid('you cannot delete your own account')
        checkConfirmation(form, confirmationOf(account))
        const purge = form.text('purge') !== ''
        await services.hosting.accounts.remove(account.id, { purge, by: user }).catch(namingObstacle(account))
        return '/-/admin/owners?done=deleted'
      },
    }
  }),
]

/** Says what keeps an account from being deleted alone, which the page lists. */
const namingObstacle =
  ({ kind }: Account) =>
  (error: unknown): never => {
    if (!(error instanceof OwnerError)) throw error
    const text =
      error.obstacle === 'organization'
        ? 'is the only owner of an organization that it founded'
        : `still owns ${error.obstacle}`
    throw new AllotError('conflict', `this ${kind} ${text}; what must go first is listed below`)
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

const createOrganization = async (
  { form, user: by }: AccountRequest,
  { hosting }: PageServices,
): Promise<Account> => {
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
