import * as v from 'valibot'
import { serializeOnce } from '../http/index.ts'
import { reply, route, type Services } from './route.ts'

const ServerVersion = v.object({ Version: v.string(), version: v.string() })

/** The level of the API that clients of Gitea and Forgejo ask for. */
const API_LEVEL = '1.22.0'

const versionOf = serializeOnce(({ version }: Services) => ({
  Version: version,
  version: `${API_LEVEL}+allot-${version}`,
}))

export const versionRoutes = [
  route({
    method: 'GET',
    path: '/version',
    operationId: 'getVersion',
    tag: 'miscellaneous',
    summary: 'The running application version',
    auth: 'optional',
    responses: { 200: ServerVersion },
    // In this order: Go reads members without case, and the last one wins.
    handle: (_request, services) => reply(200, versionOf(services)),
  }),
]
