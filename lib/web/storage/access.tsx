/** Shared by the pages about an owner's storage: the check of access, the head and links. */

import type { ComponentChildren } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import { storageItemKinds } from '../../content/usage/storage-item.ts'
import { AllotError } from '../../errors.ts'
import { accountPage, type HtmlPage } from '../../host-pages/html-pages.ts'
import type { ServedPage } from '../../host-pages/html-urls.ts'
import type { Account } from '../../records/schema/index.ts'
import { hasScope, requireScopes } from '../../scopes.ts'
import { accountPath, Link, PageHead, Tabs, usePageContext } from '../parts/components.tsx'
import {
  type Crumb,
  mountOf,
  type PageRequest,
  type PageServices,
  pagesAbout,
  type View,
} from '../parts/route.ts'
import { storageScopes } from '../parts/storage-scopes.ts'
import { Avatar } from '../people/account-parts.tsx'

/**
 * Finds an owner whose storage the user may see: the user, an organization that the user owns, or, for
 * administrators, any owner.
 * @throws AllotError not_found when there is no such owner or the user may not know of it; forbidden when the
 * user does not own the organization, or the session lacks the scope
 */
const accessibleOwner = async (services: PageServices, user: Identity, name: string): Promise<Account> => {
  const account = await services.hosting.accounts.find(user, name)
  const scopes = account === undefined ? [] : await storageScopes(services, user, account)
  if (account === undefined || (scopes.length === 0 && account.kind !== 'organization'))
    throw new AllotError('not_found', `there is no owner named ${name}`)
  const [scope] = scopes
  if (scope === undefined)
    throw new AllotError('forbidden', `only owners of ${account.name} can see its storage`)
  if (!scopes.some((one) => hasScope(user.scopes, one))) requireScopes(user, { scope })
  return account
}

/** A request for a page about the storage of an owner, with what the page is made of. */
export interface StorageRequest<Name extends string = string> extends PageRequest<Name, Identity> {
  readonly owner: Account
  readonly services: PageServices
}

/** Declares the pages about the storage of an owner: the one in the path, or else the user. */
export const storagePages = pagesAbout({ auth: 'required' }, async ({ user, params }, services) => ({
  owner: await accessibleOwner(services, user, params.owner ?? user.username),
}))

/**
 * @returns the path of the page about something, or its `html_url` when the host has such pages; undefined
 * when there is none, or the URL is unknown
 */
export const pageLink = (
  { services, site, pagesUrl }: StorageRequest,
  page: HtmlPage | undefined,
): string | undefined => {
  const { htmlUrls, settings } = services
  if (page === undefined) return undefined
  if (settings.links) return htmlUrls.of(page, site)
  const isServed = settings.servedPages.has(page.kind as ServedPage)
  return isServed ? mountOf(pagesUrl) + htmlUrls.allotPath(page) : undefined
}

/** Above the pages of an owner but the user's own. */
export const ownerCrumbs = (owner: Account, user: Identity): readonly Crumb[] =>
  owner.id === user.id
    ? []
    : user.admin
      ? [
          { name: 'Administration', to: '/-/admin' },
          { name: 'Owners', to: '/-/admin/owners' },
        ]
      : [{ name: 'Storage', to: '/' }]

/** The heading of an owner's pages, with links to other pages about the owner, and their tabs. */
const OwnerHead = ({ request }: { request: StorageRequest }) => {
  const { owner, user } = request
  const { id, kind, name, fullName } = owner
  const link = pageLink(request, accountPage(owner))
  return (
    <>
      <PageHead
        title={`Storage of ${name}`}
        subtitle={fullName === '' ? undefined : <bdi>{fullName}</bdi>}
        picture={<Avatar name={name} size="medium" />}
      >
        {user.admin && hasScope(user.scopes, 'read:admin') && id !== user.id && (
          <Link class="button secondary" to={accountPath(name)}>
            View account
          </Link>
        )}
        {link !== undefined && (
          <a class="button secondary" href={link}>
            View {kind === 'user' ? 'profile' : 'organization'}
          </a>
        )}
      </PageHead>
      <Tabs
        label={`Storage of ${name}`}
        tabs={[
          { name: 'Overview', to: usePageContext().path === '/' ? '/' : `/-/storage/${name}` },
          {
            name: 'Usage',
            to: `/-/storage/${name}/usage`,
            currentBelow: storageItemKinds.map((kind) => `/-/storage/${name}/${kind}`),
          },
          { name: 'History', to: `/-/storage/${name}/history` },
        ]}
      />
    </>
  )
}

/** A page about the storage of an owner. */
export const ownerView = (request: StorageRequest, title: string, content: ComponentChildren): View => ({
  title: `${title} of ${request.owner.name}`,
  crumbs: ownerCrumbs(request.owner, request.user),
  body: (
    <>
      <OwnerHead request={request} />
      {content}
    </>
  ),
})
