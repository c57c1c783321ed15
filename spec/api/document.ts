import { readFileSync, writeFileSync } from 'node:fs'
import { apiDocument } from '../../lib/api/document.ts'
import { routes } from '../../lib/api/index.ts'
import { VERSION } from '../../lib/version.ts'

/** The committed copy of the OpenAPI document, whose diff shows each change of the API. */
const COPY = new URL('openapi.json', import.meta.url)

/** The document as it is committed, with the default base path as its URL. */
export const currentDocument = (): unknown =>
  JSON.parse(JSON.stringify(apiDocument('/api/v1', VERSION, routes)))

export const committedDocument = (): unknown => JSON.parse(readFileSync(COPY, 'utf8'))

/** `npm run openapi` */
if (process.argv[1] === import.meta.filename)
  writeFileSync(COPY, `${JSON.stringify(currentDocument(), null, 2)}\n`)
