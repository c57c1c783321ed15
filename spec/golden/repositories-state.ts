import { recordingsOf } from './recordings.ts'
import { CAROL, FULL, makeRepositories, type RecordedRepository } from './state.ts'
import type { World } from './world.ts'

const acme = (name: string, options: Partial<RecordedRepository> = {}): RecordedRepository => ({
  owner: 'acme',
  name,
  ...options,
})

/** Repositories whose creation was not recorded, by the next recording of the family `repositories`. */
const NOT_RECORDED: Record<string, RecordedRepository[]> = {
  'orgrepo.private': [acme('full-orgrepo', { description: FULL, size: 1500 })],
  'orgrepo.gitignore.noinit': [acme('init-orgrepo', { size: 500 })],
  'orgrepo.trust.bad': [acme('tr-orgrepo')],
  'orgrepo.name#20': [acme('.dot')],
  'orgrepo.desc.max': [acme('ty-unknown-orgrepo')],
  'orgsrepo.admin': [
    acme('full-orgsrepo', { description: FULL, size: 1500 }),
    acme('priv-orgsrepo', { description: 'private one', private: true }),
  ],
  'orgsrepo.template': [acme('dbn-orgsrepo', { default_branch: 'trunk' })],
  'orgsrepo.name#18': [acme('trb-orgsrepo')],
  'orgsrepo.desc.unicode': [acme('dm-orgsrepo', { description: 'd'.repeat(2048) })],
  'userrepo.fork': [
    { owner: 'dave', name: 'daverepo' },
    { owner: 'eve', name: 'everepo' },
  ],
}

/** The steps that create them between the recordings. */
export const stepsNotRecorded = Object.fromEntries(
  Object.entries(NOT_RECORDED).map(([id, list]) => [id, (world: World) => makeRepositories(world, list)]),
)

/** A repository that a recording created. */
const recorded = (as: string, { owner, name, size, empty, ...body }: Made): RecordedRepository => ({
  owner: owner.login,
  name,
  by: as,
  description: body.description,
  private: body.private,
  default_branch: body.default_branch,
  ...(empty ? {} : { size: SIZES[`${owner.login}/${name}`] ?? Math.max(size * 1024, 500) }),
})

/** Of the repositories whose size was recorded later, or by which lists were ordered. */
const SIZES: Record<string, number> = {
  'acme/gim-orgrepo': 1600,
  'acme/gim-orgsrepo': 1700,
  'bob/demo': 24 * 1024,
}

interface Made extends Omit<Required<RecordedRepository>, 'owner'> {
  owner: { login: string }
  empty: boolean
}

/**
 * Every repository of the recorded server in the order of their ids: those that the family `repositories`
 * made, and carol's.
 */
export const ALL_REPOSITORIES: RecordedRepository[] = [
  ...recordingsOf('repositories').flatMap(({ id, as, response }) => [
    ...(NOT_RECORDED[id] ?? []),
    ...(response.status === 201 || response.status === 202 ? [recorded(as, response.body as Made)] : []),
  ]),
  ...CAROL,
]
