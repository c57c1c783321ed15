import type { ClientModel } from './client-model.ts'
import type { Random } from './random.ts'

/** One write, and what it changes once it is acknowledged. */
export interface Operation {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  body?: unknown
  headers?: Record<string, string>
  /** Whose token; an administrator's when absent. */
  as?: string
  /** The status of a request that must be refused, and then changes nothing. */
  refusedWith?: number
  change(model: ClientModel): void
  /** Keeps what only the answer says. */
  onAnswer?(answer: AnswerBody): void
}

/** What the answers of the deeds say and a client needs later. */
export interface AnswerBody {
  id: number
  sha1: string
}

/** What a client knows beside its family: the secrets of tokens, the numbers of keys. */
export interface ClientState {
  /** The newest token of each person whose secret was told. */
  secrets: Map<string, { name: string; secret: string }>
  keyIds: Map<string, number>
  /** A number that was not used before. */
  next(): number
}

export const SHARED_REPOSITORIES = ['ops/landmark-1', 'ops/landmark-2']

/** Undefined when the family has nothing to do it to. */
export type OperationMaker = (model: ClientModel, random: Random, known: ClientState) => Operation | undefined

/** Someone whose token is known. */
export const pickUser = (model: ClientModel, random: Random, known: ClientState): string | undefined =>
  random.pick([...model.people.keys()].filter((login) => known.secrets.has(login)))
