import { fileURLToPath } from 'node:url'
import { API, type Checker, type Type } from 'typescript/unstable/sync'
import type * as v from 'valibot'
import { Config, ServerOptions, StorageOptions } from '../../bin/config/config.ts'
import { Options } from '../../lib/options/index.ts'
import { replaceSection } from './documents.ts'

/*
 * The options as the documents list them: their names and defaults from the schemas, and their texts from the
 * comments in the schemas, which the compiler hands on to editors.
 */

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

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The modules with the schemas, each with the type whose members are the options. */
const TYPES = { 'lib/options/index.ts': 'DataOptions', 'bin/config/config.ts': 'Config' }

const readTexts = (): ReadonlyMap<string, string> => {
  const api = new API({ cwd: root })
  const config = `${root}tsconfig.json`
  const { checker, program } = api.updateSnapshot({ openProjects: [config] }).getProject(config)!
  const texts = Object.entries(TYPES).flatMap(([file, name]) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(root + file)!)!
    const symbol = checker.getExportsOfModule(module).find((exported) => exported.name === name)!
    return textsOf(checker, checker.getDeclaredTypeOfSymbol(symbol))
  })
  api.close()
  return new Map(texts)
}

const textsOf = (checker: Checker, type: Type, section?: string): [path: string, text: string][] =>
  checker.getPropertiesOfType(type).flatMap((member) => {
    const path = section === undefined ? member.name : `${section}.${member.name}`
    const text = checker.getDocumentationCommentOfSymbol(member).replaceAll('\n', ' ')
    const inner = section === undefined ? checker.getTypeOfSymbol(member) : undefined
    const parts = inner?.isUnionType() ? inner.getTypes() : [inner]
    const sections = parts.filter((part) => part?.isObjectType() || part?.isIntersectionType())
    return [[path, text] as [string, string], ...sections.flatMap((part) => textsOf(checker, part!, path))]
  })

let texts: ReadonlyMap<string, string> | undefined

/**
 * The text of an option without its default.
 * @throws Error when the comment is missing, or does not end with the default that the schema has
 */
const textOf = (path: string, fallback: string): string => {
  texts ??= readTexts()
  // `[server] data` is the option `data`.
  const comment = texts.get(path) || texts.get(path.replace(/^server\./, ''))
  const [, text = '', named = ''] = /^(.*?)(?: Default: (`.*`)\.)?$/.exec(comment ?? '') ?? []
  if (text !== '' && named === fallback) return text
  throw new Error(`the comment of ${path} must end with "Default: ${fallback}.": ${comment}`)
}

export const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const entriesOf = (member: Member): Record<string, Member> | undefined =>
  member.entries ??
  (member.wrapped && entriesOf(member.wrapped)) ??
  member.options?.map(entriesOf).find(Boolean)

const fallbackOf = (member: Member): string => {
  const { default: value } = member
  return value === undefined ? '' : `\`${JSON.stringify(value)}\``
}

export const rowsOf = (entries: Record<string, Member>, section?: string): Row[] =>
  Object.entries(entries).flatMap(([name, member]) => {
    const below = section === undefined ? entriesOf(member) : undefined
    if (below !== undefined) return rowsOf(below, name)
    const option = section === undefined ? name : `${section}.${name}`
    const key = `[${snake(section ?? (name in ServerOptions.entries ? 'server' : 'api'))}] ${snake(name)}`
    const fallback = fallbackOf(member)
    return [{ option, key, fallback, description: textOf(option, fallback) }]
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
