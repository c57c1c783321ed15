import * as v from 'valibot'
import { reply, route } from './route.ts'

const GeneralAPISettings = v.object({
  max_response_items: v.number(),
  default_paging_num: v.number(),
  default_git_trees_per_page: v.number(),
  default_max_blob_size: v.number(),
})

export const settingsRoutes = [
  route({
    method: 'GET',
    path: '/settings/api',
    operationId: 'getGeneralAPISettings',
    tag: 'miscellaneous',
    summary: 'How the lists of this API are paged',
    auth: 'optional',
    responses: { 200: GeneralAPISettings },
    handle: (_request, { pageLimits }) =>
      reply(200, {
        max_response_items: pageLimits.max,
        default_paging_num: pageLimits.default,
        default_git_trees_per_page: 0,
        default_max_blob_size: 0,
      }),
  }),
]
