import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { intendedDifferences } from './differences/index.ts'

/** The page of the documentation that `npm run differences` writes from the table of intended differences. */
export const PAGE = join(import.meta.dirname, '../../docs/differences.md')

const HEAD = `# Differences from Forgejo

Allot answers as [the specification that it was written to](api.md) says. Where the specification is silent, Allot
answers as Forgejo 16 does. These are the intended differences. The specs in \`spec/golden\` replay recorded answers of
Forgejo and fail on any difference that this table does not name, and on any row that no recording shows.
\`npm run differences\` writes this page.

Not recorded: \`PUT /version\` answers 405, because the version of a server is not set over the API.
Taking the right or the account of the last active administrator answers 422, for PATCH as for DELETE; Forgejo answers
PATCH with 400. An object of git is found by its full id only, since an abbreviated id would find objects that no
reference reaches.

| Allot | Reason |
|---|---|
`

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** One row for each difference, in the order of the table. */
export const differencesPage = (): string =>
  HEAD + intendedDifferences.map(({ title, reason }) => `| ${cell(title)} | ${cell(reason)} |\n`).join('')

if (process.argv[1] === import.meta.filename) writeFileSync(PAGE, differencesPage())
