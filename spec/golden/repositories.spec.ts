import { replay } from './replay.ts'
import { stepsNotRecorded } from './repositories-state.ts'

replay('repositories', {
  steps: {
    ...stepsNotRecorded,
    // Forgejo refused to create these two.
    'orgrepo.name#9': (world) => world.make('alice', 'DELETE', '/repos/acme/-'),
    'orgsrepo.gib.again': (world) => world.make('alice', 'DELETE', '/repos/acme/lab-orgsrepo'),
  },
  leaveOut: {
    'userrepo.fork': 'the state of the replay has no forks; spec/git/forks.spec.ts specifies them',
  },
})
