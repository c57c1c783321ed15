import type { StreamReply } from '../../http/index.ts'
import type { Account, PackageFile, PackageVersion } from '../../records/schema/index.ts'

/** What the `html_url` of a package shows: its files, to be had. It runs nothing and loads nothing. */
export const packagePage = (
  { owner, version }: { owner: Account; version: PackageVersion },
  files: readonly PackageFile[],
  baseUrl: string,
): StreamReply => {
  const path = [owner.name, version.type, version.name, version.version].map(encodeURIComponent).join('/')
  const rows = files.map((file) =>
    row(file, `${baseUrl}/api/packages/${path}/${encodeURIComponent(file.name)}`),
  )
  const title = escaped(`${version.name} ${version.version}`)
  const body = [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>`,
    `<h1>${title}</h1><p>A ${version.type} package of ${escaped(owner.name)}.</p>`,
    `<table><thead><tr><th>File<th>Bytes<th>SHA-256<tbody>${rows.join('')}</table></html>\n`,
  ].join('\n')
  return { status: 200, headers: HEADERS, body }
}

const row = ({ name, size, sha256 }: PackageFile, href: string): string =>
  `<tr><td><a href="${escaped(href)}">${escaped(name)}</a><td>${size}<td><code>${sha256}</code>`

const HEADERS = {
  'Content-Type': 'text/html;charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const escaped = (text: string): string => text.replace(/[&<>"]/g, (one) => ENTITIES[one]!)
