import { mkdirSync, writeFileSync } from 'node:fs'
import { SignatureKind, SymbolFlags, type Type, type Symbol as TypeSymbol } from 'typescript/unstable/sync'
import { Declarations, nameOf, PublicMembers } from './public-types.ts'

const HEAD = `# Reference of the package

What \`import\` gets from the package, with what editors show, made from the published declarations. The [HTTP API](../docs/api.md) has
a reference of its own.
`

const OTHERS = `
## Other types

Types of parameters, members and results, which have no name to import. \`Parameters\`, \`ReturnType\` and \`Awaited\` find them.
`

/**
 * The reference of the package, made from the declarations and their comments.
 * @param members of the same declarations
 */
export const reference = (declarations: Declarations, members: PublicMembers): string => {
  const writer = new Writer(declarations)
  const modules = declarations.entries().map(([module, exports]) => {
    const described = exports.toSorted(byName).map(({ name, symbol }) => writer.section(name, symbol))
    return `\n## ${module}\n${described.join('')}`
  })
  const others = [...members.unexported.values()].toSorted(byName)
  return `${HEAD}${modules.join('')}${OTHERS}${others.map(({ name, symbol }) => writer.section(name, symbol)).join('')}`
}

const byName = (left: { name: string }, right: { name: string }): number => (left.name < right.name ? -1 : 1)

const TYPES = SymbolFlags.Class | SymbolFlags.Interface | SymbolFlags.TypeAlias

class Writer {
  readonly #declarations: Declarations
  readonly #written = new Map<string, string>()

  constructor(declarations: Declarations) {
    this.#declarations = declarations
  }

  /** An export; a second one of the same thing refers to the first. */
  section(name: string, symbol: TypeSymbol): string {
    const place = this.#declarations.placeOf(symbol)
    const before = this.#written.get(place)
    if (before !== undefined) return `\n### ${name}\n\nThe same as [${before}](#${before.toLowerCase()}).\n`
    this.#written.set(place, name)
    const { text, rest } = this.#comment(symbol)
    const type = symbol.flags & TYPES ? this.#declarations.checker.getDeclaredTypeOfSymbol(symbol) : undefined
    const members = type === undefined || type.isUnionType() ? '' : this.#members(type, '')
    const parts = [this.#code(symbol, members !== ''), text, rest, members]
    return `\n### ${name}\n\n${parts
      .map((part) => part.replace(/^\n+|\n+$/g, ''))
      .filter((part) => part !== '')
      .join('\n\n')}\n`
  }

  /**
   * The whole declaration of a function, a value or a union; of other types the first line, when it says more
   * than the name.
   */
  #code(symbol: TypeSymbol, hasMembers: boolean): string {
    const texts = this.#declarations.textsOf(symbol).map((text) => text.replace(/^export (?:declare )?/, ''))
    if (hasMembers) {
      const [head] = texts[0]!.split(' {') as [string]
      return /^(?:class|interface) .*(?:<| extends )/.test(head) ? `\`\`\`typescript\n${head}\n\`\`\`` : ''
    }
    const schema = texts.some((text) => text.includes('v.'))
    const code = schema && symbol.flags & TYPES ? [this.#typeText(symbol)] : texts
    return `\`\`\`typescript\n${code.join('\n')}\n\`\`\``
  }

  #typeText(symbol: TypeSymbol): string {
    const { checker } = this.#declarations
    return checker.typeToString(checker.getDeclaredTypeOfSymbol(symbol), undefined, FULL)
  }

  #members(type: Type, indent: string): string {
    return this.#declarations
      .membersOf(type)
      .map((member) => this.#member(member, indent))
      .join('\n')
  }

  #member(member: TypeSymbol, indent: string): string {
    const type = this.#declarations.checker.getTypeOfSymbol(member)
    // A member of a schema, or one whose declaration has an object type without a name.
    const isInline = this.#declarations.textsOf(member).some((text) => /\{ (?!\[)|\bv\.\w/.test(text))
    const inner = type && isInline ? this.#innerOf(type) : undefined
    const nested = inner === undefined ? '' : this.#members(inner, `${indent}  `)
    const { text, rest } = this.#comment(member, `${indent}  `)
    const code = nested === '' ? this.#memberCode(member, type) : `${nameAndMark(member)}: { … }`
    const line = `${indent}- \`${code}\`  \n${indent}  ${text}`
    return [line, rest, nested].filter((part) => part !== '').join('\n')
  }

  /** The object type without a name that a member has, alone or in a list. */
  #innerOf(type: Type): Type | undefined {
    const { checker } = this.#declarations
    if (nameOf(type) === 'Array' || nameOf(type) === 'ReadonlyArray')
      return type.isObjectType() && type.isTypeReference()
        ? this.#innerOf(checker.getTypeArguments(type)[0]!)
        : undefined
    const isInline = nameOf(type) === undefined && (type.isObjectType() || type.isIntersectionType())
    return isInline && checker.getSignaturesOfType(type, SignatureKind.Call).length === 0 ? type : undefined
  }

  #memberCode(member: TypeSymbol, type: Type | undefined): string {
    const [text = ''] = this.#declarations.textsOf(member)
    // A member of a schema, whose declaration is not that of the type.
    if (type !== undefined && /\bv\.\w/.test(text))
      return `${nameAndMark(member)}: ${this.#declarations.checker.typeToString(type, undefined, FULL)}`
    return text.replace(/^(?:readonly|override) |;$/g, '').replace(/^readonly /, '')
  }

  #comment(symbol: TypeSymbol, indent = ''): { text: string; rest: string } {
    const tags = this.#declarations.checker.getJsDocTagsOfSymbol(symbol)
    const lines = tags.map(({ name, text = '' }) => sentenceOf(name, text, indent))
    const prose = oneLine(this.#declarations.documentationOf(symbol))
    const [examples, others] = [true, false].map((isCode) =>
      lines.filter((line) => line.includes('```') === isCode),
    )
    return { text: [prose, ...others!].join(' '), rest: examples!.join('\n') }
  }
}

/** NodeBuilderFlags: no truncation, and the alias itself is expanded. */
const FULL = 1 | 8388608

const nameAndMark = ({ name, flags }: TypeSymbol): string =>
  `${name}${flags & SymbolFlags.Optional ? '?' : ''}`

const oneLine = (text: string): string =>
  text
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ')
    .trim()

const sentenceOf = (tag: string, text: string, indent: string): string => {
  if (tag === 'example')
    return `\n${['```typescript', ...text.trim().split('\n'), '```'].map((line) => indent + line).join('\n')}\n`
  const line = oneLine(text).replace(/\.$/, '')
  if (tag === 'param') return `${line.replace(/^(\S+) (?:- )?/, '`$1`: ')}.`
  return `${tag === 'throws' ? 'Throws' : 'Returns'} ${line.replace(/^AllotError /, '`AllotError` ')}.`
}

/** `npm run reference` */
if (process.argv[1] === import.meta.filename) {
  const declarations = new Declarations()
  mkdirSync('dist', { recursive: true })
  writeFileSync('dist/reference.md', reference(declarations, new PublicMembers(declarations)))
  declarations.close()
}
