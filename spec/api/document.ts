import { readFileSync, writeFileSync } from 'node:fs'
import { apiDocument } from '../../lib/api/openapi.ts'
import { VERSION } from '../../lib/version.ts'

/** The committed copy of the API document: a change of the API shows in the diff of this file. */
const COPY = new URL('openapi.json', import.meta.url)

/** The document as it is committed: served from nowhere in particular, so below the default base path. */
export const currentDocument = (): unknown => JSON.parse(JSON.stringify(apiDocument('/api/v1', VERSION)))

export const committedDocument = (): unknown => JSON.parse(readFileSync(COPY, 'utf8'))

/** `npm run openapi` */
if (process.argv[1] === import.meta.filename)
  writeFileSync(COPY, `${JSON.stringify(currentDocument(), null, 2)}\n`)
