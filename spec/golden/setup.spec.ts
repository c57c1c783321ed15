import { replay } from './replay.ts'

replay('setup', {
  users: 3,
  steps: { 'setup.org.carol': (world) => world.makeToken('carol', ['all']) },
  leaveOut: {
    'setup.email.add': 'a user has one email',
    'setup.settings': 'administrators edit profiles: PATCH /admin/users/{username}',
  },
})
