/**
 * A sum of sizes in bytes: a number up to 2^53-1, and a bigint beyond. Invariant: equal sums are equal by
 * `===`, and `<` compares any two sums exactly.
 */
export type Sum = number | bigint

export const add = (left: Sum, right: Sum): Sum => {
  if (typeof left === 'number' && typeof right === 'number') {
    const sum = left + right
    if (Number.isSafeInteger(sum)) return sum
  }
  return sumOf(BigInt(left) + BigInt(right))
}

export const subtract = (left: Sum, right: Sum): Sum =>
  add(left, typeof right === 'number' ? 0 - right : -right)

/** Comparison function for `Array.prototype.sort`. */
export const compare = (left: string | Sum, right: string | Sum): number =>
  left < right ? -1 : left > right ? 1 : 0

const sumOf = (exact: bigint): Sum => {
  const number = Number(exact)
  return Number.isSafeInteger(number) ? number : exact
}

/**
 * Serializes a value to JSON, with bigints as integers.
 * @param options.before prefix of the result when the value contains a bigint
 */
export const jsonOf = (value: unknown, { indent = 0, before = '' } = {}): string => {
  // Bigints are rare, and JSON.stringify throws for them, unless the host has defined
  // BigInt.prototype.toJSON.
  if (!('toJSON' in BigInt.prototype))
    try {
      return JSON.stringify(value, undefined, indent)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
  let isMarked = false
  const mark = function (this: Record<string, unknown>, key: string, member: unknown): unknown {
    const original = this[key]
    if (typeof original !== 'bigint') return member
    isMarked = true
    return MARK + original
  }
  const text = JSON.stringify(value, mark, indent)
  return isMarked ? before + text.replace(MARKED, '$1') : text
}

/** A lone surrogate, which no other text can contain: input with one is refused. */
const MARK = '\ud800'
const MARKED = /"\\ud800(-?\d+)"/g

/** Parses JSON, with integers beyond 2^53-1 as bigints. */
export const parseExactly = (text: string): unknown => {
  if (!MAY_BE_LONG.test(text)) return JSON.parse(text)
  const marked = mapNumbers(text, (number) => (LONG.test(number) ? `"\\ud800${number}"` : number))
  return JSON.parse(marked, (_, member: unknown) =>
    typeof member === 'string' && IS_MARKED.test(member) ? sumOf(BigInt(member.slice(1))) : member,
  )
}
const MAY_BE_LONG = /\d{16}/
const IS_MARKED = /^\ud800-?\d{16,}$/
const LONG = /^-?[1-9]\d{15,}$/

/** Replaces the numbers of a JSON text, and nothing within its strings. */
export const mapNumbers = (text: string, change: (number: string) => string): string => {
  const token = /"|-?\d[\d.eE+-]*/g
  const parts: string[] = []
  let copied = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '"') token.lastIndex = endOfString(text, match.index + 1)
    else {
      parts.push(text.slice(copied, match.index), change(match[0]))
      copied = token.lastIndex
    }
  }
  return parts.join('') + text.slice(copied)
}

/** Index after the closing quote of the string whose content begins at `start`, in a JSON text. */
export const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end + 1
  }
  return text.length
}
