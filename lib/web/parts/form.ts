import type { IncomingMessage } from 'node:http'
import * as v from 'valibot'
import { AllotError } from '../../errors.ts'
import type { BodyTurn } from '../../http/body/body-turns.ts'
import { readBody } from '../../http/body/read-body.ts'
import { recordOf } from '../../http/validate.ts'

/** The fields of a submitted form. */
export interface Form {
  /** Text of a field, trimmed; empty when absent. */
  text(name: string): string
  /** Text of a field, untrimmed, for passwords. */
  raw(name: string): string
  /** Every value of a repeated field. */
  all(name: string): string[]
  /** All fields, to show the form again. */
  readonly entries: readonly (readonly [name: string, value: string])[]
}

export const formOf = (fields: URLSearchParams): Form => ({
  text: (name) => (fields.get(name) ?? '').trim(),
  raw: (name) => fields.get(name) ?? '',
  all: (name) => fields.getAll(name),
  entries: [...fields],
})

const fields = {
  accepts: 'application/x-www-form-urlencoded',
  // Text, or an object when a body parser of the host has read the body.
  body: v.union([v.string(), recordOf(v.union([v.string(), v.array(v.string())]))]),
} as const

/** Most fields of a form; the largest forms are lists of checkboxes. */
const MAX_FIELDS = 5000

/**
 * Refuses a form before its fields are read, one by one, while all other requests wait.
 * @throws AllotError too_large
 */
const refuseManyFields = (body: string): void => {
  let fields = 1
  for (let index = body.indexOf('&'); index !== -1; index = body.indexOf('&', index + 1))
    if (++fields > MAX_FIELDS)
      throw new AllotError('too_large', `the form must not have more than ${MAX_FIELDS} fields`)
}

/** @throws AllotError too_large, unsupported_media_type, invalid, misconfigured, unavailable */
export const readForm = async (req: IncomingMessage, limit: number, sender: BodyTurn): Promise<Form> => {
  const body = (await readBody(req, fields, limit, sender)) as v.InferOutput<typeof fields.body>
  if (typeof body === 'string') {
    refuseManyFields(body)
    return formOf(new URLSearchParams(body))
  }
  const pairs = Object.entries(body).flatMap(([name, value]) => [value].flat().map((item) => [name, item]))
  return formOf(new URLSearchParams(pairs))
}
