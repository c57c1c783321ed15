import * as v from 'valibot'
import type { Permission as Rights } from '../accounts/access.ts'
import { add, type Sum } from '../integers.ts'
import type { Repository as Record } from '../records/schema/index.ts'
import { timestamp } from './time.ts'
import { hostOf, User } from './user-schema.ts'

export const Permission = v.object({ admin: v.boolean(), push: v.boolean(), pull: v.boolean() })

const entries = {
  id: v.number(),
  owner: User,
  name: v.string(),
  full_name: v.string(),
  description: v.string(),
  empty: v.boolean(),
  private: v.boolean(),
  fork: v.boolean(),
  mirror: v.boolean(),
  /** KiB of git data and LFS objects, rounded down, as on Gitea and Forgejo. */
  size: v.number(),
  html_url: v.string(),
  url: v.string(),
  ssh_url: v.string(),
  clone_url: v.string(),
  website: v.string(),
  stars_count: v.number(),
  forks_count: v.number(),
  watchers_count: v.number(),
  open_issues_count: v.number(),
  /** Drafts left out. */
  release_counter: v.number(),
  default_branch: v.string(),
  archived: v.boolean(),
  created_at: v.string(),
  updated_at: v.string(),
  permissions: Permission,
}

/** A repository whose own parent is left out, as the parent of a fork. */
const ParentRepository = v.object({ ...entries, parent: v.null() })

export const Repository = v.object({ ...entries, parent: v.nullable(ParentRepository) })
export type Repository = v.InferOutput<typeof Repository>

/** What a repository is sent with, besides its record. */
export interface RepositoryLinks {
  owner: User
  permissions: Rights
  parent: v.InferOutput<typeof ParentRepository> | null
  openIssues: number
  releases: number
}

/** The quotient of the largest sums is far below 2^53. */
const kib = (bytes: Sum): number =>
  typeof bytes === 'number' ? Math.floor(bytes / 1024) : Number(bytes / 1024n)

export const repositoryResource = (
  record: Record,
  { owner, permissions, parent, openIssues, releases }: RepositoryLinks,
  baseUrl: string,
  apiUrl: string,
): Repository => {
  const path = `${owner.login}/${record.name}`
  return {
    id: record.id,
    owner,
    name: record.name,
    full_name: path,
    description: record.description,
    empty: record.empty,
    private: record.private,
    fork: record.parent !== null,
    mirror: record.mirror,
    size: kib(add(record.size, record.lfs)),
    html_url: `${baseUrl}/${path}`,
    url: `${apiUrl}/repos/${path}`,
    ssh_url: `git@${hostOf(baseUrl)}:${path}.git`,
    clone_url: `${baseUrl}/${path}.git`,
    website: record.website,
    stars_count: record.stars,
    forks_count: record.forks,
    watchers_count: record.watchers,
    open_issues_count: openIssues,
    release_counter: releases,
    default_branch: record.defaultBranch,
    archived: record.archived,
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
    permissions,
    parent,
  }
}
