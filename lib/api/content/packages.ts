import * as v from 'valibot'
import { Empty, Forbidden, NotFound } from '../../http/index.ts'
import { pageOf, reply, route } from '../route.ts'
import { Package, PackageFile, packageFileResource, presentPackages } from './package-schema.ts'

const VERSION = '/packages/{owner}/{type}/{name}/{version}'
const read = { auth: 'optional', scope: 'read:package', tag: 'package' } as const

export const packageRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/packages/{owner}',
    operationId: 'listPackages',
    summary: 'The packages of a user or an organization, each version by itself, the newest first',
    paging: 'lenient',
    query: v.object({
      type: v.optional(
        v.pipe(v.string(), v.maxLength(255), v.description('Such as `generic`, the only one there is.')),
      ),
      q: v.optional(v.pipe(v.string(), v.maxLength(255), v.description('What the name holds.'))),
    }),
    responses: { 200: v.array(Package), 403: Forbidden, 404: NotFound },
    async handle({ user, params, query, page, ...urls }, { hosting, store }) {
      const found = await hosting.packages.list(user, params.owner, query, page)
      if (found === undefined) return reply(404)
      const { items, total } = found.page
      return pageOf(await presentPackages(store, user, urls, found.owner, items), total)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: VERSION,
    operationId: 'getPackage',
    summary: 'A version of a package',
    responses: { 200: Package, 403: Forbidden, 404: NotFound },
    async handle({ user, params, ...urls }, { hosting, store }) {
      const found = await hosting.packages.find(user, params)
      if (found === undefined) return reply(404)
      const [one] = await presentPackages(store, user, urls, found.owner, [found.version])
      return reply(200, one!)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: `${VERSION}/files`,
    operationId: 'listPackageFiles',
    summary: 'The files of a version of a package',
    responses: { 200: v.array(PackageFile), 403: Forbidden, 404: NotFound },
    async handle({ user, params }, { hosting }) {
      const files = await hosting.packages.files(user, params)
      return files === undefined ? reply(404) : reply(200, files.map(packageFileResource))
    },
  }),
  route({
    method: 'DELETE',
    path: VERSION,
    operationId: 'deletePackage',
    tag: 'package',
    summary: 'Delete a version of a package with its files',
    auth: 'required',
    scope: 'write:package',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      (await hosting.packages.remove(user, params)) ? reply(204) : reply(404),
  }),
]
