/**
 * A sum of sizes: a number while that is exact, which is up to 2^53-1, and a bigint beyond. So equal sums are equal by `===`, and
 * `<` compares any two of them exactly.
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

/** For sorting. */
export const compare = (left: string | Sum, right: string | Sum): number =>
  left < right ? -1 : left > right ? 1 : 0

const sumOf = (exact: bigint): Sum => {
  const number = Number(exact)
  return Number.isSafeInteger(number) ? number : exact
}

/**
 * JSON, in which a bigint is an integer.
 * @param options.before goes before the text of a value that holds a bigint
 */
export const jsonOf = (value: unknown, { indent = 0, before = '' } = {}): string => {
  // JSON.stringify throws at the first bigint, which nearly no value has, unless a host has taught bigints to become strings.
  if (!('toJSON' in BigInt.prototype))
    try {
      return JSON.stringify(value, undefined, indent)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
    }
  let isMarked = false
  const mark = function (this: Record<string, unknown>, key: string, member: unknown): unknown {
    const given = this[key]
    if (typeof given !== 'bigint') return member
    isMarked = true
    return MARK + given
  }
  const text = JSON.stringify(value, mark, indent)
  return isMarked ? before + text.replace(MARKED, '$1') : text
}

/** Half a surrogate pair: texts that have one are refused where they come in, and no record with a sum has a text. */
const MARK = '\ud800'
const MARKED = /"\\ud800(-?\d+)"/g

/** What a JSON text holds, in which an integer beyond 2^53-1 is a bigint. */
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

/** A JSON text whose numbers, but not what looks like one within a string, are replaced. */
export const mapNumbers = (text: string, change: (number: string) => string): string => {
  const token = /"|-?\d[\d.eE+-]*/g
  const parts: string[] = []
  let done = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '"') token.lastIndex = endOfString(text, match.index + 1)
    else {
      parts.push(text.slice(done, match.index), change(match[0]))
      done = token.lastIndex
    }
  }
  return parts.join('') + text.slice(done)
}

/** The index behind the quote that ends the string which has begun before `start`. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end + 1
  }
  return text.length
}
