import { replay } from './replay.ts'

replay('following', {
  steps: {
    'followers.me': async (world) => {
      await world.make('bob', 'PUT', '/user/following/alice')
      await world.make('frank', 'PUT', '/user/following/alice')
    },
    'follow.del.again': (world) => world.make('alice', 'DELETE', '/user/following/carol'),
  },
  leaveOut: {
    'block.bob': 'Allot has no blocking of users',
    'follow.blocked': 'Allot has no blocking of users',
    'unblock.bob': 'Allot has no blocking of users',
  },
})
