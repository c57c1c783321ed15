import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { Options } from '../../lib/options/index.ts'
import { ServerLimits } from '../../lib/server.ts'
import { membersOf } from './options.ts'

/** The file with the interface of the options, which editors show with its comments. */
export const OPTION_TYPES = fileURLToPath(new URL('../../lib/options/types.ts', import.meta.url))

type Member = v.GenericSchema & {
  default?: unknown
  wrapped?: Member
  entries?: Record<string, Member>
  options?: (Member | string)[]
  item?: Member
  literal?: unknown
}

/** Name of the interface of a section. `QuotaOptions` are those of `createQuota`. */
const interfaceOf = (section: string): string =>
  section === 'quota' ? 'QuotaSettings' : `${section.charAt(0).toUpperCase()}${section.slice(1)}Options`

const entriesOf = (member: Member): Record<string, Member> | undefined =>
  member.entries ??
  (member.wrapped && entriesOf(member.wrapped)) ??
  member.options?.flatMap((option) => (typeof option === 'string' ? [] : [entriesOf(option)])).find(Boolean)

const sectionsOf = (entries: Record<string, Member>): string =>
  Object.entries(entries)
    .flatMap(([name, member]) => {
      const inside = entriesOf(member)
      if (inside === undefined) return []
      return [`\n/** ${commentOf(member)} */\nexport interface ${interfaceOf(name)} {\n${linesOf(inside)}}\n`]
    })
    .join('')

const typeOf = (member: Member, name: string): string => {
  switch (member.type as string) {
    case 'optional':
      return typeOf(member.wrapped!, name)
    case 'union':
      return member.options!.map((option) => typeOf(option as Member, name)).join(' | ')
    case 'picklist':
      return member.options!.map((option) => `'${option as string}'`).join(' | ')
    case 'array':
      return `${typeOf(member.item!, name)}[]`
    case 'literal':
      return String(member.literal)
    case 'strict_object':
      return interfaceOf(name)
    default:
      return member.type
  }
}

const commentOf = (member: Member): string => {
  const fallback = JSON.stringify(member.default)
  const isShown = fallback !== undefined && fallback !== '{}'
  return `${v.getDescription(member) ?? ''}${isShown ? ` Default: \`${fallback}\`.` : ''}`.trim()
}

const linesOf = (entries: Record<string, Member>, indent = '  '): string =>
  Object.entries(entries)
    .map(([name, member]) => {
      const lines = wrapped(commentOf(member), 120 - indent.length)
      const comment =
        lines.length === 1
          ? `/** ${lines[0]} */`
          : `/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */`
      return `${indent}${comment}\n${indent}${name}?: ${typeOf(member, name)} | undefined\n`
    })
    .join('')

const wrapped = (text: string, width: number): string[] => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || `${last} ${word}`.length > width - 7) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

/** The module that declares the options that are data, each with the description that its schema has. */
export const optionTypes =
  (): string => `// Written by \`npx tsx spec/readme/option-types.ts\` from the schemas in lib/options/index.ts and lib/server.ts.

/** The options of \`createAllot\` that are data. Sizes are bytes, times are milliseconds. */
export interface DataOptions {
${linesOf(membersOf(Options) as Record<string, Member>)}}
${sectionsOf(membersOf(Options) as Record<string, Member>)}
/** Limits on the resources that clients of a server can use. Sizes are bytes, times are milliseconds. */
export interface LimitOptions {
${linesOf(ServerLimits.entries as unknown as Record<string, Member>)}}
`

// `npx tsx spec/readme/option-types.ts` updates the file.
if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(OPTION_TYPES, optionTypes())
