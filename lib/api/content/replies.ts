import type { Page } from '../../records/pages.ts'
import type { Repository } from '../../records/schema/index.ts'
import { pageOf, type Recipient, reply, type Services } from '../route.ts'

interface Found {
  readonly repository: Repository
}

/**
 * Replies with issues, comments or releases of one repository: 404 when the viewer cannot see it, or what was
 * asked for.
 * @param read presents records, all of them in one snapshot
 * @param recordOf the record of a thing that was found alone
 */
export const contentReplies = <F extends Found, R, T>(
  read: (services: Services, to: Recipient, repository: Repository, records: readonly R[]) => Promise<T[]>,
  recordOf: (found: F) => NoInfer<R>,
) => ({
  async one<const Status extends 200 | 201>(
    services: Services,
    request: Recipient,
    status: Status,
    found: F | undefined,
  ) {
    if (found === undefined) return reply(404)
    const [shown] = await read(services, request, found.repository, [recordOf(found)])
    return reply(status, shown!)
  },

  async page(services: Services, request: Recipient, found: (Found & { page: Page<R> }) | undefined) {
    if (found === undefined) return reply(404)
    const { items, total } = found.page
    return pageOf(await read(services, request, found.repository, items), total)
  },
})
