import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { filesIn, sourceOf } from './source.ts'

/**
 * Codes that do not reach the callers of a function, although a function of a name that it calls throws them.
 */
const CAUGHT: Readonly<Record<string, readonly string[]>> = {
  'lib/http/validate.ts: pathParams': ['invalid'],
  // A new account has no token yet, and exists.
  'lib/accounts/set-up.ts: run': ['not_found'],
  // Its own method throws it.
  'lib/quota-only/index.ts: createQuota': ['not_found'],
  // This `readFile` is that of Node.
  'lib/ssh/host-keys.ts: readHostKey': ['invalid'],
}

interface SourceFunction {
  readonly file: string
  readonly name: string
  /** The doc comment from `@throws` on; undefined when it has none. */
  readonly throws: string | undefined
  readonly body: string
}

const HEAD =
  /^((?: {2})?)(?:export )?(?:const (\w+)(?: =|:)|(?:async )?function (\w+)|(?:async )?(#?\w+)(?:<[^>]*>)?\()/

/** The functions at the top of a file, and the methods of its classes. */
const functionsIn = (file: string): SourceFunction[] => {
  const lines = sourceOf(file).split('\n')
  return lines.flatMap((line, index): SourceFunction[] => {
    const [, indent, constant, declared, method] = HEAD.exec(line) ?? []
    const name = constant ?? declared ?? method
    if (name === undefined || indent === undefined || /^(?:if|for|while|switch|return)$/.test(name)) return []
    const rest = lines.slice(index + 1)
    const isNext = (text: string) => text.startsWith(indent) && /^[^\s)\]}]/.test(text.slice(indent.length))
    const isLast = (text: string) => text.startsWith(`${indent}}`) && !/[({[>]$/.test(text)
    const end = rest.findIndex((text) => isNext(text) || isLast(text))
    const body = [line, ...rest.slice(0, end === -1 ? rest.length : end)].join('\n')
    return [{ file, name, throws: throwsBefore(lines, index), body }]
  })
}

const throwsBefore = (lines: readonly string[], index: number): string | undefined => {
  if (!lines[index - 1]?.trimEnd().endsWith('*/')) return undefined
  const before = lines.slice(0, index)
  const start = before.findLastIndex((line) => line.trimStart().startsWith('/**'))
  const [, tag] = /@throws AllotError([\s\S]*?)(?:\n *\* @|\*\/)/.exec(before.slice(start).join('\n')) ?? []
  return tag
}

const [, codes = ''] = /type ErrorCode =([\s\S]*?)\n\n/.exec(sourceOf('lib/errors.ts')) ?? []
const CODES = [...codes.matchAll(/'(\w+)'/g)].map(([, code]) => code!)

const codesIn = (text: string): string[] => CODES.filter((code) => new RegExp(`\\b${code}\\b`).test(text))

/** The codes that the function itself throws. */
const thrownIn = ({ body }: SourceFunction): string[] => [
  ...[...body.matchAll(/new AllotError\(\s*'(\w+)'/g)].map(([, code]) => code!),
  ...(/\binvalid\(/.test(body) ? ['invalid'] : []),
  ...(/\bunauthenticated\(/.test(body) ? ['unauthenticated'] : []),
]

const functions = filesIn('lib').flatMap(functionsIn)
const namesakes = new Map<string, SourceFunction[]>()
for (const each of functions) namesakes.set(each.name, [...(namesakes.get(each.name) ?? []), each])

/** The functions that a call by this name can mean: those of the file, else the only one of the name. */
const calledBy = ({ file, body, name: own }: SourceFunction): SourceFunction[] =>
  [...body.matchAll(/(?<![.\w#])(\w+)\(/g)].flatMap(([, name]) => {
    const all = namesakes.get(name!) ?? []
    return name === own ? [] : all.filter((each) => each.file === file || all.length === 1)
  })

/**
 * What a comment says: its codes, and those of the functions that it refers to, such as in "as `find` does".
 */
const statedBy = (described: SourceFunction): string[] => {
  const { throws = '', file } = described
  const references = [...throws.matchAll(/(?:`|\{@link )(?:\w+\.)?(\w+)/g)].flatMap(([, name]) => {
    const all = namesakes.get(name!) ?? []
    return all.filter((each) => each !== described && (each.file === file || all.length === 1))
  })
  return [
    ...codesIn(throws),
    ...references.flatMap((each) => [...codesIn(each.throws ?? ''), ...thrownIn(each)]),
  ]
}

describe('The comment @throws of a function', () => {
  const described = functions.filter(({ throws }) => throws !== undefined)

  it('names the codes that the function throws, and those that the functions throw that it calls', () => {
    const missing = described.flatMap((each) => {
      const place = `${each.file}: ${each.name}`
      const reached = new Map(thrownIn(each).map((code) => [code, each.name]))
      for (const called of calledBy(each))
        for (const code of [...codesIn(called.throws ?? ''), ...thrownIn(called)])
          reached.set(code, called.name)
      for (const code of [...statedBy(each), ...(CAUGHT[place] ?? [])]) reached.delete(code)
      return [...reached].map(([code, from]) => `${place}: ${code}, from ${from}`)
    })
    assert.deepEqual(missing, [])
    assert.ok(described.length > 200, `${described.length} functions have @throws`)
  })

  it('names no code that does not exist', () => {
    const wrong = described.flatMap(({ file, name, throws }) =>
      (throws!.match(/\b[a-z]+_[a-z_]+\b/g) ?? [])
        .filter((word) => !CODES.includes(word))
        .map((word) => `${file}: ${name}: ${word}`),
    )
    assert.deepEqual(wrong, [])
  })
})
