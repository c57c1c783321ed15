import { invalid } from '../../lib/errors.ts'
import type { Account, Repository } from '../../lib/records/schema.ts'
import { copyGitData } from './git-data.ts'
import { allOf, asOperator, attempt, type Moving } from './moving.ts'
import { SourceRepository } from './shapes.ts'
import type { Source } from './source.ts'

export const repositoriesOf = async (
  source: Source,
  kind: Account['kind'],
  owner: string,
): Promise<SourceRepository[]> => {
  const path = `/${kind === 'user' ? 'users' : 'orgs'}/${encodeURIComponent(owner)}/repos`
  const listed = await allOf(source.list(SourceRepository, path))
  return listed.filter((one) => one.owner.login.toLowerCase() === owner.toLowerCase())
}

/** The record first and then its git data, which a repository that is there already may still lack. */
export const copyRepository = (moving: Moving, given: SourceRepository): Promise<void> =>
  attempt(moving.report, `the repository ${given.full_name}`, async () => {
    const { allot, report } = moving
    const { repositories } = allot.hosting
    const there = await repositories.find(asOperator(0), given.owner.login, given.name)
    const record = there ?? (await create(moving, given))
    if (record.empty) await agree(moving, record, given)
    if (there === undefined) {
      report.copied('repositories')
      moving.made.push({ owner: given.owner.login, name: record.name })
      tellOfRest(moving, given)
    } else report.found('repositories')
    if (given.empty !== true) await copyGitData(moving, record, given)
  })

const create = async ({ allot }: Moving, given: SourceRepository): Promise<Repository> => {
  const { accounts, repositories } = allot.hosting
  const owner = await accounts.byName(given.owner.login)
  if (owner === undefined) throw invalid('its owner is not here')
  return repositories.create(owner, owner, {
    name: given.name,
    description: given.description ?? '',
    private: given.private || given.internal === true,
    defaultBranch: given.default_branch || undefined,
  })
}

/** What a new repository is not made with. */
const agree = async ({ allot }: Moving, { id, ...record }: Repository, given: SourceRepository) => {
  const wanted = { website: given.website ?? '', archived: given.archived === true }
  if (record.website !== wanted.website || record.archived !== wanted.archived)
    await allot.hosting.repositories.edit(id, wanted)
}

const MIRROR = 'mirrors, which are ordinary repositories here'
const FORK = 'forks, which stand alone here'
const CONTENTS = 'issues, pull requests and releases'
const UNASKED = 'wikis, packages, webhooks, deploy keys and collaborators, which are not looked for'

const tellOfRest = ({ report }: Moving, given: SourceRepository): void => {
  const { open_issues_count: issues, open_pr_counter: pulls, release_counter: releases } = given
  report.behind(UNASKED, given.full_name)
  if (given.mirror === true) report.behind(MIRROR, given.full_name)
  if (given.fork === true) report.behind(FORK, given.full_name)
  if (issues + pulls + releases > 0) report.behind(CONTENTS, given.full_name)
}
