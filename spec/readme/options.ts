import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { Options } from '../../lib/options.ts'

const file = fileURLToPath(new URL('../../README.md', import.meta.url))
const [BEGIN, END] = ['<!-- options -->', '<!-- end of options -->']

interface Row {
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

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const entriesOf = (member: Member): Record<string, Member> | undefined =>
  member.entries ??
  (member.wrapped && entriesOf(member.wrapped)) ??
  member.options?.map(entriesOf).find(Boolean)

const fallbackOf = (member: Member): string => {
  const { default: value } = 'pipe' in member ? ((member.pipe as Member[])[0] ?? member) : member
  return value === undefined ? '' : `\`${JSON.stringify(value)}\``
}

const rowsOf = (entries: Record<string, Member>, section?: string): Row[] =>
  Object.entries(entries).flatMap(([name, member]) => {
    const below = section === undefined ? entriesOf(member) : undefined
    if (below !== undefined) return rowsOf(below, name)
    const option = section === undefined ? name : `${section}.${name}`
    const key = `[${section ?? 'api'}] ${snake(name)}`
    return [{ option, key, fallback: fallbackOf(member), description: v.getDescription(member) ?? '' }]
  })

/** The options as the README shows them, written from the schema. */
export const optionsTable = (): string => {
  const rows = rowsOf(Options.entries as unknown as Record<string, Member>)
  const lines = rows.map(
    (row) => `| \`${row.option}\` | \`${row.key}\` | ${row.fallback} | ${row.description} |`,
  )
  return ['| in code | in the file | default | what it does |', '|---|---|---|---|', ...lines].join('\n')
}

export const tableInReadme = (): string => {
  const text = readFileSync(file, 'utf8')
  return text.slice(text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)).trim()
}

const write = (): void => {
  const text = readFileSync(file, 'utf8')
  const [before, after] = [text.slice(0, text.indexOf(BEGIN) + BEGIN.length), text.slice(text.indexOf(END))]
  writeFileSync(file, `${before}\n${optionsTable()}\n${after}`)
}

// `npx tsx spec/readme/options.ts` writes the table anew.
if (process.argv[1] === fileURLToPath(import.meta.url)) write()
