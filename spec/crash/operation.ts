import type { ClientModel } from './client-model.ts'
import type { Random } from './random.ts'

/** One write, and how it changes the model when it is acknowledged. */
export interface Operation {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  body?: unknown
  headers?: Record<string, string>
  /** The user that sends the request; an administrator when absent. */
  as?: string
  /** Status of a request that must be refused and change nothing. */
  refusedWith?: number
  change(model: ClientModel): void
  /** Stores what only the answer tells, such as the secret of a token. */
  onAnswer?(answer: AnswerBody): void
}

/** Members of answers that a client needs later. */
export interface AnswerBody {
  id: number
  sha1: string
}

/** The knowledge of a client besides its model. */
export interface ClientState {
  /** The newest token of each user. */
  secrets: Map<string, { name: string; secret: string }>
  keyIds: Map<string, number>
  /** A number that this client has not used yet. */
  next(): number
}

/** Repositories that every client stars and watches, and none changes. */
export const SHARED_REPOSITORIES = ['ops/shared-1', 'ops/shared-2']

/** Makes a random operation; undefined when the model has nothing to apply it to. */
export type OperationMaker = (model: ClientModel, random: Random, known: ClientState) => Operation | undefined

/** Picks a user whose token is known. */
export const pickUser = (model: ClientModel, random: Random, known: ClientState): string | undefined =>
  random.pick([...model.people.keys()].filter((login) => known.secrets.has(login)))
