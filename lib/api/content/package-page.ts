/**
 * The plain page of a version of a package, with links to its files, for servers without pages
 * (lib/web/people/packages.tsx), so that `html_url` works there. Where there are pages, they are asked first
 * (lib/http/mount.ts).
 */
import { downloadPath } from '../../content/packages/types.ts'
import type { StreamReply } from '../../http/index.ts'
import { escapeHtml } from '../../markdown/html.ts'
import type { PackageFile } from '../../records/schema/index.ts'
import { type StreamServices, stream } from '../route.ts'
import { type PackageRequest, readerOf, required } from './registries.ts'

const show = async (
  request: PackageRequest<'owner' | 'type' | 'name' | 'version'>,
  services: StreamServices,
): Promise<StreamReply> => {
  const { params, baseUrl } = request
  const user = readerOf(request)
  const { packages } = services.hosting
  const { owner, version } = await required(request, services, packages.find(user, params))
  const files = await required(request, services, packages.files(user, params))
  const path = { ...version, owner: owner.name }
  const rows = files.map((file) => fileRow(file, baseUrl + downloadPath(path, file.name)))
  const title = escapeHtml(`${version.name} ${version.version}`)
  const body = [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>`,
    `<h1>${title}</h1><p>A ${version.type} package of ${escapeHtml(owner.name)}.</p>`,
    `<table><thead><tr><th>File<th>Bytes<th>SHA-256<tbody>${rows.join('')}</table></html>\n`,
  ].join('\n')
  return { status: 200, headers: PAGE_HEADERS, body }
}

const fileRow = ({ name, size, sha256 }: PackageFile, href: string): string =>
  `<tr><td><a href="${escapeHtml(href)}">${escapeHtml(name)}</a><td>${size}<td><code>${sha256}</code>`

const PAGE_HEADERS = {
  'Content-Type': 'text/html;charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

export const plainPackagePageRoutes = (['GET', 'HEAD'] as const).map((method) =>
  stream({ method, path: '/{owner}/-/packages/{type}/{name}/{version}', handle: show }),
)
