import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { apiDocument } from '../../lib/api/document.ts'
import { routes } from '../../lib/api/index.ts'
import { VERSION } from '../../lib/version.ts'

/** A line for each part of the OpenAPI document, whose diff shows what a change of the API concerns. */
const SUMMARY = new URL('routes.txt', import.meta.url)

interface OpenApiDocument {
  paths: Record<string, Record<string, { responses: object }>>
  components: { schemas: Record<string, object> }
}

/** The document of all routes, as JSON, with the default base path as its URL. */
export const currentDocument = (): string => JSON.stringify(apiDocument('/api/v1', VERSION, routes))

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Method, path, statuses and hash of each route; name and hash of each schema; the hash of the rest. */
export const currentSummary = (): string => {
  const { paths, components, ...rest } = JSON.parse(currentDocument()) as OpenApiDocument
  const { schemas, ...others } = components
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      lineOf([method.toUpperCase(), path, ...Object.keys(operation.responses)].join(' '), operation),
    ),
  )
  const definitions = Object.entries(schemas).map(([name, schema]) => lineOf(name, schema))
  return [...operations, ...definitions, lineOf('everything else', { ...rest, ...others })].join('')
}

const lineOf = (what: string, part: object): string =>
  `${what} ${hashOf(JSON.stringify(part)).slice(0, 12)}\n`

export const committedSummary = (): string => readFileSync(SUMMARY, 'utf8')

/** `npm run openapi` */
if (process.argv[1] === import.meta.filename) writeFileSync(SUMMARY, currentSummary())
