import { replay } from './replay.ts'
import { makeFollows } from './state.ts'

replay('users', {
  async prepare(world) {
    await makeFollows(world)
    const repositories = [
      { name: 'bobrepo', description: 'demo by bob', auto_init: true },
      { name: 'bobsecret', private: true },
    ]
    for (const repository of repositories) {
      await world.make('bob', 'POST', '/user/repos', repository)
      await world.make('bob', 'PUT', `/user/starred/bob/${repository.name}`)
    }
  },
  steps: {
    'users.bob.as.alice': (world) => world.make('alice', 'DELETE', '/user/following/carol'),
  },
})
