import type { Sum } from '../integers.ts'
import { encodeValue } from '../records/codec.ts'
import { deleteAction, type Fault, putAction } from './checks.ts'
import type { ComparedKey } from './comparison.ts'
import { describeKey } from './records.ts'

export const explainEntry = (index: string, { key, expectedValues, actualValue }: ComparedKey): Fault => {
  const [due, another] = expectedValues
  const entry = `the index of ${index}`
  if (another !== undefined)
    return {
      message: `${entry} can hold only one of ${expectedValues.map(describeKey).join(' and ')}: both claim ${describeKey(key)}`,
    }
  if (due === undefined)
    return { message: `${entry} has an entry too many: ${describeKey(key)}`, repair: deleteAction(key) }
  const mend = putAction(key, due)
  if (actualValue === undefined)
    return { message: `${entry} lacks ${describeKey(key)} of ${describeKey(due)}`, repair: mend }
  return {
    message: `${entry} leads from ${describeKey(key)} to another record than ${describeKey(due)}`,
    repair: mend,
  }
}

export const explainCounter = (
  counter: string,
  { key, expected, actual }: ComparedKey,
  encode: (count: Sum) => Uint8Array = encodeValue,
): Fault => ({
  message: `the counter ${counter} of ${describeKey(key)} is ${actual}, and there are ${expected}`,
  repair: expected === 0 ? deleteAction(key) : putAction(key, encode(expected)),
})
