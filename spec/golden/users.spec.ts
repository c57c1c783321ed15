import { replay } from './replay.ts'

replay('users', {
  async prepare(world) {
    // A private user can be followed by those only who did so before.
    await world.setVisibility('dave', 'public')
    for (const name of ['bob', 'carol', 'dave', 'eve'])
      await world.make('alice', 'PUT', `/user/following/${name}`)
    for (const name of ['bob', 'dave', 'frank']) await world.make(name, 'PUT', '/user/following/alice')
    await world.setVisibility('dave', 'private')
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
