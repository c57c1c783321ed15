import { replay } from './replay.ts'
import { ACME, ALICE, makeFollows, makeRepositories, WITHOUT_GIT } from './state.ts'

const SCOPES = {
  'alice:ro': ['read:user', 'read:repository'],
  'alice:w': ['write:user'],
  'alice:misc': ['read:misc'],
  'alice:org': ['read:organization'],
  'root1:adm': ['read:admin'],
}

replay('authentication', {
  options: WITHOUT_GIT,
  async prepare(world) {
    await makeRepositories(world, [...ACME, { owner: 'secretorg', name: 'hidden' }, ...ALICE])
    await world.running.allot.hosting.accounts.edit(3, {
      fullName: '',
      website: '',
      description: '',
      location: '',
    })
    for (const title of ['pub', 't1', 'T1', 'a', 'b', 'c', 'd'])
      await world.makeToken(`alice:${title}`, ['all'])
    for (const [name, scopes] of Object.entries(SCOPES)) await world.makeToken(name, scopes)
  },
  steps: {
    'scope.ro.GET /version': async (world) => {
      await makeFollows(world)
      await world.make('alice', 'DELETE', '/user/following/carol')
    },
  },
  leaveOut: {
    'scope.public.*': 'Allot has no scope public-only',
    'scope.*POST /markdown': 'the family markdown has what it answers',
  },
})
