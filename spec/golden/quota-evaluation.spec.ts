import { notedGroups } from './quota-notes.ts'
import type { Recording } from './recordings.ts'
import { type ReplayOptions, replay } from './replay.ts'
import { makeAll, resizeTo, WITHOUT_GIT } from './state.ts'
import type { World } from './world.ts'

const GIB = 1024 ** 3

let made = 0

/** More repositories existed when the configurations were recorded. */
const prepareLater = async (world: World): Promise<void> => {
  await makeAll(world)
  await resizeTo(world, { 'alice/demo': 202_790, 'acme/full-orgrepo': 44_233 })
}

/** Puts an owner into new groups with the given rules, and into no other. */
const assign = async (world: World, owner: string, note: string): Promise<void> => {
  const groups = notedGroups(note)
  const names = groups.map(() => `group ${++made}`)
  for (const [index, rules] of groups.entries()) {
    const named = rules.map((rule, number) => ({ name: `${number} of ${names[index]}`, ...rule }))
    await world.make('root1', 'POST', '/admin/quota/groups', { name: names[index], rules: named })
  }
  await world.make('root1', 'POST', `/admin/users/${owner}/quota/groups`, { groups: names })
}

const ownerOf = ({ as, request }: Recording): string => (request.path.includes('/orgs/') ? 'acme' : as)

/** Assigns groups when the note of a recording differs from the one before. */
const assigning = () => {
  let before = ''
  return async (world: World, recording: Recording) => {
    const owner = ownerOf(recording)
    const now = `${owner} ${recording.note}`
    if (now !== before) await assign(world, owner, recording.note!)
    before = now
  }
}

/** The dialect whose answers have the same meaning as the recorded ones. */
const base = { ...WITHOUT_GIT, dialect: 'forgejo' } as const

const withTotal = (only: string, defaultTotal?: number): ReplayOptions => ({
  only: [only],
  options: { ...base, quota: defaultTotal === undefined ? {} : { defaultTotal } },
  prepare: prepareLater,
})

const groupOf = (name: string, limit: number, subject: string) => ({
  name,
  rules: [{ name: `of ${name}`, limit, subjects: [subject] }],
})

replay(
  'quota-evaluation',
  {
    only: ['eval.*'],
    options: { ...base, quota: { defaultTotal: GIB } },
    prepare: makeAll,
    beforeEach: assigning(),
    leaveOut: {
      'eval.limit.9223372036854775807*': 'a limit beyond 2^53-1 is 422',
      'eval.limit.-9223372036854775808*': 'a limit beyond 2^53-1 is 422',
      'eval.none.*': 'the subject `none` is not known',
    },
  },
  {
    only: ['ini.defgroups*'],
    options: { ...base, quota: { defaultGroups: ['default-a', 'default-b'], defaultTotal: GIB } },
    async prepare(world) {
      await prepareLater(world)
      for (const group of [groupOf('default-a', 0, 'size:all'), groupOf('default-b', -1, 'size:git:all')])
        await world.make('root1', 'POST', '/admin/quota/groups', group)
    },
    steps: {
      'ini.defgroups.explicit.quota': (world) =>
        world
          .make('root1', 'POST', '/admin/quota/groups', groupOf('own', 5, 'size:assets:all'))
          .then(() => world.make('root1', 'PUT', '/admin/quota/groups/own/users/alice')),
      'ini.defgroups.deldefault': (world) =>
        world.make('root1', 'DELETE', '/admin/quota/groups/own/users/alice'),
    },
  },
  {
    ...withTotal('ini.defmissing*', GIB),
    options: { ...base, quota: { defaultGroups: ['nosuch'], defaultTotal: GIB } },
  },
  withTotal('ini.total0*', 0),
  withTotal('ini.total1k*', 1024),
  withTotal('ini.totalunset*'),
  {
    only: ['ini.cors*'],
    options: { ...base, cors: { origins: ['*'] } },
    leaveOut: { 'ini.cors.get': 'the family quota-user has the list' },
  },
  {
    only: ['ini.*'],
    leaveOut: {
      'ini.noquota*': 'quota cannot be turned off',
      'ini.signin*': 'a server whose pages need a login is an option of Forgejo alone',
      'ini.nossh*': 'the option is of Forgejo alone; the family ssh-keys has what the keys answer',
      'ini.keysizes*': 'the option is of Forgejo alone; the family ssh-keys has what the keys answer',
    },
  },
)
