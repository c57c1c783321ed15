import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { GitStorage } from '../../lib/git/index.ts'
import { waitFor } from '../support/wait-for.ts'
import type { Entry } from './client-model.ts'
import { type Observed, type Observer, organizationsOf } from './observe.ts'

export interface RecountInput extends Observed, Observer {
  /** The directory with the git repositories. */
  directory: string
}

/**
 * Compares the usage of each owner with the files on the disk and with the observed entries, and adds
 * differences to the contradictions. `verify` compares the other counters, and the lists, with the records.
 */
export const recount = async (all: RecountInput): Promise<void> => {
  const organizations = organizationsOf(all.people)
  const owners = [...all.people.map(({ login }) => login), ...organizations]
  await Promise.all(owners.map((owner) => recountUsage(all, owner, organizations.includes(owner))))
}

const expectSame = (
  { contradictions }: Pick<Observed, 'contradictions'>,
  what: string,
  answered: unknown,
  counted: unknown,
) => {
  const [actual, expected] = [JSON.stringify(answered), JSON.stringify(counted)]
  if (actual !== expected)
    contradictions.push(`${what}: the server answers ${actual}, but counted are ${expected}`)
}

/**
 * Checks that there is one directory for each repository; waits for them, since a start cleans up in the
 * background.
 */
export const recountFolders = async (
  all: Pick<RecountInput, 'directory' | 'contradictions'> & { repositories: readonly { id: number }[] },
): Promise<void> => {
  const ids = all.repositories.map(({ id }) => `${id}.git`).sort()
  let found: string[] = []
  await waitFor(async () => {
    found = (await readdir(all.directory, { recursive: true })).filter((path) => /^..\/[^/]+$/.test(path))
    found = found.map((path) => basename(path)).sort()
    return found.length === ids.length
  })
  expectSame(all, 'directories of repositories', ids, found)
}

type Counted = Pick<Entry, 'kind' | 'size'> & { on: Entry['on'] | null; count: number }

const entriesOf = ({ facts }: RecountInput, owner: string): Counted[] =>
  [...facts].flatMap(([fact, value]) => {
    const [record, , kind] = fact.split(' ')
    if (record !== 'ledger' && record !== 'package') return []
    const { place, ...entry } = JSON.parse(value)
    return place.split('/')[0] === owner ? [{ kind, ...entry } as Counted] : []
  })

const recountUsage = async (all: RecountInput, owner: string, isOrganization: boolean) => {
  const path = isOrganization ? `/orgs/${owner}/quota` : `/admin/users/${owner}/quota`
  const { body } = await all.ask('GET', path, { token: all.token })
  expectSame(all, `usage of ${owner}`, body.used.size, await usageOf(all, owner, entriesOf(all, owner)))
}

const usageOf = async (all: RecountInput, owner: string, entries: Counted[]) => {
  const git = new GitStorage({ directory: all.directory, git: 'git' })
  const owned = all.repositories.filter((repository) => repository.owner.login === owner)
  const bytes = async (isPrivate: boolean) => {
    const visible = owned.filter((repository) => repository.private === isPrivate)
    return sum(await Promise.all(visible.map(({ id }) => git.size(id))))
  }
  const sized = (kind: Entry['kind'], on: Counted['on'] = null) =>
    sum(
      entries
        .filter((entry) => entry.kind === kind && entry.on === on)
        .map(({ size, count }) => size * count),
    )
  return {
    repos: { public: await bytes(false), private: await bytes(true) },
    git: { LFS: sized('lfs') },
    assets: {
      attachments: { issues: sized('attachments', 'issue'), releases: sized('attachments', 'release') },
      artifacts: sized('artifacts'),
      packages: { all: sized('packages') },
    },
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0)
