import { Forbidden, Ndjson } from '../http/index.ts'
import { reply, route } from './route.ts'

export const exportRoutes = [
  route({
    method: 'GET',
    path: '/admin/export',
    operationId: 'adminExport',
    tag: 'admin',
    summary: 'Everything, as it is at one moment: for a backup, or to move it to another store',
    auth: 'admin',
    scope: 'read:secrets',
    responses: { 200: Ndjson, 403: Forbidden },
    handle: (_request, { exportTo }) => reply(200, exportTo),
  }),
]
