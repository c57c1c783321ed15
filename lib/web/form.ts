import type { IncomingMessage } from 'node:http'
import * as v from 'valibot'
import { readBody } from '../http/body.ts'
import { recordOf } from '../http/json.ts'

/** What a form has sent. */
export interface Form {
  /** The text of a field, without blanks around it; empty when there is none. */
  text(name: string): string
  /** As it was sent: for passwords. */
  raw(name: string): string
  /** Every value of a field that may be there more than once. */
  all(name: string): string[]
  /** All of it, to show it again. */
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
  // The text as it came, or what a body parser of the host has made of it.
  body: v.union([v.string(), recordOf(v.union([v.string(), v.array(v.string())]))]),
} as const

/** @throws AllotError too_large, unsupported_media_type, invalid */
export const readForm = async (req: IncomingMessage, limit: number): Promise<Form> => {
  const body = (await readBody(req, fields, limit)) as v.InferOutput<typeof fields.body>
  if (typeof body === 'string') return formOf(new URLSearchParams(body))
  const pairs = Object.entries(body).flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
  return formOf(new URLSearchParams(pairs))
}
