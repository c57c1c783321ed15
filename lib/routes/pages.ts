import type { Viewer } from '../hosting/access.ts'
import type { Page } from '../hosting/listing.ts'
import type { Account, Repository } from '../records/schema.ts'
import { presentRepositories, type Urls } from '../resources/present.ts'
import { userResource } from '../resources/user.ts'
import { pageOf, type Services } from './declare.ts'

/** Who asks, and where the answer's links lead. */
export interface Asked extends Urls {
  readonly user: Viewer
}

export const userPage = ({ user, baseUrl }: Asked, { items, total }: Page<Account>) =>
  pageOf(
    items.map((account) => userResource(account, user, baseUrl)),
    total,
  )

export const repositoryPage = async (
  { store }: Services,
  request: Asked,
  { items, total }: Page<Repository>,
) => pageOf(await presentRepositories(store, request.user, request, items), total)
