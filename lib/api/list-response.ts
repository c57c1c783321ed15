import { type Viewer, viewerText } from '../accounts/access.ts'
import type { Page } from '../accounts/visible-page.ts'
import { SerializedJson } from '../http/index.ts'
import type { Account, Repository } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { presentIn, presentRepositories, type Urls } from './repository-presenter.ts'
import { pageOf, type Services } from './route.ts'
import { userResource } from './user-schema.ts'

/** Who asks, and where the answer's links lead. */
export interface ListRequest extends Urls {
  readonly user: Viewer
}

export const userPage = ({ user, baseUrl }: ListRequest, { items, total }: Page<Account>) =>
  pageOf(
    items.map((account) => userResource(account, user, baseUrl)),
    total,
  )

export const repositoryPage = async (
  { store }: Services,
  request: ListRequest,
  { items, total }: Page<Repository>,
) => pageOf(await presentRepositories(store, request.user, request, items), total)

/**
 * A page of repositories that is found, and written as JSON, once while nothing of it has changed.
 * @param what names all that `find` goes by besides records and the one who asks
 */
export const keptRepositoryPage = async (
  { store }: Services,
  { user, baseUrl, apiUrl }: ListRequest,
  what: string,
  find: (tx: ReadTransaction) => Promise<Page<Repository>>,
) => {
  const { page, total } = await store.read(
    async (tx) => {
      const found = await find(tx)
      const page = new SerializedJson(await presentIn(tx, user, { baseUrl, apiUrl }, found.items))
      return { page, total: found.total }
    },
    `repositories ${viewerText(user)} at ${apiUrl} ${what}`,
  )
  return pageOf(page, total)
}

/** A repository likewise; undefined where none is found. */
export const keptRepository = (
  { store }: Services,
  { user, baseUrl, apiUrl }: ListRequest,
  what: string,
  find: (tx: ReadTransaction) => Promise<Repository | undefined>,
) =>
  store.read(
    async (tx) => {
      const found = await find(tx)
      const [presented] = found === undefined ? [] : await presentIn(tx, user, { baseUrl, apiUrl }, [found])
      return presented && new SerializedJson(presented)
    },
    `repository ${viewerText(user)} at ${apiUrl} ${what}`,
  )
