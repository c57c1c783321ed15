import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One request and the response of Forgejo; README.md describes the members. */
export interface Recording {
  /** Unique within its family. */
  id: string
  /** Login of the user who sent it, or `anonymous`. */
  as: string
  request: RecordedRequest
  response: RecordedResponse
  /** The state of the server before the request. */
  note?: string
}

export interface RecordedRequest {
  method: string
  path: string
  query?: string
  /** `token`, `bearer` or `basic` of the sender, or the literal header with placeholders. */
  auth?: string
  headers?: Record<string, string>
  body?: unknown
}

export interface RecordedResponse {
  status: number
  headers: Record<string, string>
  body?: unknown
  /** Set where `body` keeps the first element of a list only: how many there were, and their names. */
  body_count?: number
  body_keys?: (string | number)[]
}

/** Reads the recordings of one family, in their order. */
export const recordingsOf = (family: string): Recording[] =>
  readFileSync(join(import.meta.dirname, 'recordings', `${family}.jsonl`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Recording)
