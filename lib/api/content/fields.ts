import * as v from 'valibot'
import type { Repository } from '../../records/schema/index.ts'
import type { RepositoryName } from '../../repositories/relations.ts'
import type { ListRequest } from '../list-response.ts'
import type { Services } from '../route.ts'
import type { Presenting } from './presenter.ts'

/** The segments of a path that name a repository, and those that number something in it. */
export const repositoryParams = { owner: v.string(), repo: v.string() }
export const number = v.pipe(v.number(), v.safeInteger())

export const repositoryNameOf = ({ owner, repo }: { owner: string; repo: string }): RepositoryName => ({
  owner,
  name: repo,
})

/** Characters that a text may have. */
export const text = v.pipe(v.string(), v.maxLength(128 * 1024))
export const shortText = v.pipe(v.string(), v.maxLength(255))

/** Go's clients send a choice without a value as an empty one. */
export const orEmpty = <T extends string>(...options: T[]) => v.optional(v.picklist([...options, '']))

export const presenterFor = (
  { store }: Services,
  { user, baseUrl, apiUrl }: ListRequest,
  repository: Repository,
): Presenting => ({ store, viewer: user, repository, baseUrl, apiUrl })
