import type { Sum } from '../../integers.ts'
import { encodeValue } from '../values.ts'
import { keyWords } from './collections.ts'
import { deleting, type Fault, putting } from './declare.ts'
import type { Compared } from './sides.ts'

export const explainEntry = (index: string, { key, dueValues, heldValue }: Compared): Fault => {
  const [due, another] = dueValues
  const entry = `the index of ${index}`
  if (another !== undefined)
    return {
      says: `${entry} can hold only one of ${dueValues.map(keyWords).join(' and ')}: both claim ${keyWords(key)}`,
    }
  if (due === undefined)
    return { says: `${entry} has an entry too many: ${keyWords(key)}`, mend: deleting(key) }
  const mend = putting(key, due)
  if (heldValue === undefined) return { says: `${entry} lacks ${keyWords(key)} of ${keyWords(due)}`, mend }
  return { says: `${entry} leads from ${keyWords(key)} to another record than ${keyWords(due)}`, mend }
}

export const explainCounter = (
  counter: string,
  { key, due, held }: Compared,
  encode: (count: Sum) => Uint8Array = encodeValue,
): Fault => ({
  says: `the counter ${counter} of ${keyWords(key)} is ${held}, and there are ${due}`,
  mend: due === 0 ? deleting(key) : putting(key, encode(due)),
})
