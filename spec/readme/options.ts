import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { Config, ServerOptions, StorageOptions } from '../../bin/config/config.ts'
import { Options } from '../../lib/options/index.ts'
import { replaceSection } from './documents.ts'

/** The document with the tables. */
export const CONFIGURATION = 'docs/configuration.md'

export interface Row {
  option: string
  key: string
  fallback: string
  description: string
}

type Member = v.GenericSchema & {
  default?: unknown
  wrapped?: Member
  entries?: Record<string, Member>
  options?: Member[]
}

export const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const entriesOf = (member: Member): Record<string, Member> | undefined =>
  member.entries ??
  (member.wrapped && entriesOf(member.wrapped)) ??
  member.options?.map(entriesOf).find(Boolean)

const fallbackOf = (member: Member): string => {
  const { default: value } = 'pipe' in member ? ((member.pipe as Member[])[0] ?? member) : member
  return value === undefined ? '' : `\`${JSON.stringify(value)}\``
}

export const rowsOf = (entries: Record<string, Member>, section?: string): Row[] =>
  Object.entries(entries).flatMap(([name, member]) => {
    const below = section === undefined ? entriesOf(member) : undefined
    if (below !== undefined) return rowsOf(below, name)
    const option = section === undefined ? name : `${section}.${name}`
    const key = `[${snake(section ?? (name in ServerOptions.entries ? 'server' : 'api'))}] ${snake(name)}`
    return [{ option, key, fallback: fallbackOf(member), description: v.getDescription(member) ?? '' }]
  })

const tableOf = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  [
    `| ${titles.join(' | ')} |`,
    `|${'---|'.repeat(titles.length)}`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n')

export const membersOf = (schema: { entries: object }) => schema.entries as unknown as Record<string, Member>

/** The keys that `allot serve` takes. */
const fileKeys = new Set(
  Object.entries(membersOf(Config)).flatMap(([section, member]) =>
    rowsOf(entriesOf(member)!, section).map(({ key }) => key),
  ),
)

/** The tables of {@link CONFIGURATION}, written from the schemas, by the name of their section. */
export const tables: Readonly<Record<string, () => string>> = {
  options: () =>
    tableOf(
      ['in code', 'in the file', 'default', 'what it does'],
      rowsOf(membersOf(Options)).map((row) => [
        `\`${row.option}\``,
        fileKeys.has(row.key) ? `\`${row.key}\`` : '',
        row.fallback,
        row.description,
      ]),
    ),
  'server options': () =>
    tableOf(
      ['in the file', 'default', 'what it does'],
      rowsOf(membersOf(ServerOptions), 'server').map((row) => [
        `\`${row.key}\``,
        row.fallback,
        row.description,
      ]),
    ),
  'storage options': () =>
    tableOf(
      ['in code', 'in the file', 'what it does'],
      rowsOf(membersOf(StorageOptions), 'storage').map((row) => [
        `\`${row.option.replace('storage.', '')}\``,
        `\`${row.key}\``,
        row.description,
      ]),
    ),
}

// `npx tsx spec/readme/options.ts` updates the tables.
if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, table] of Object.entries(tables)) replaceSection(CONFIGURATION, name, table())
