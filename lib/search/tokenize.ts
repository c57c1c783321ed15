import { folded } from './tokens.ts'

/** Characters of a word that count: what follows them tells no word from another. */
const MAX_LENGTH = 64

/** Every word of a text, once, without case: what a title is found by. */
export const tokenize = (text: string): string[] => [
  ...new Set(
    (folded(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).map((word) => [...word].slice(0, MAX_LENGTH).join('')),
  ),
]
