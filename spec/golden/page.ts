import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { intendedDifferences } from './differences/index.ts'

/** The page of the documentation that is made from the table of intended differences. */
export const PAGE = join(import.meta.dirname, '../../docs/differences.md')

const HEAD = `# Differences from Forgejo

Allot answers as the API document says, and where that is silent as a real Forgejo (v16) does. These are the intended differences.
The table is made from the one that the specs in \`spec/golden\` hold against recorded answers of a Forgejo: a difference that it does
not name fails, and so does an entry that nothing matches any more. \`npm run differences\` writes this page anew.

Not recorded, and decided: \`PUT /version\` answers 405, since the version of a server is not set over the API.

| Allot | Reason |
|---|---|
`

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** One row for each title, in the order of the table. */
export const differencesPage = (): string => {
  const rows = new Map<string, string>()
  for (const { title, reason } of intendedDifferences) rows.set(title, rows.get(title) ?? reason)
  return `${HEAD}${[...rows].map(([title, reason]) => `| ${cell(title)} | ${cell(reason)} |\n`).join('')}`
}

if (process.argv[1] === import.meta.filename) writeFileSync(PAGE, differencesPage())
