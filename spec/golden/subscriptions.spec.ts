import { replay } from './replay.ts'
import { ACME, ALICE, BOB, CAROL, makeRepositories, WITHOUT_GIT } from './state.ts'

replay('subscriptions', {
  options: WITHOUT_GIT,
  async prepare(world) {
    const fork = { ...ALICE[0]!, owner: 'bob', size: 24_576 }
    const hidden = { owner: 'secretorg', name: 'hidden' }
    await makeRepositories(world, [...ACME, hidden, ...ALICE, ...BOB, fork, ...CAROL])
  },
  steps: {
    'sub.get.gone': (world) => world.make('bob', 'DELETE', '/repos/alice/demo/subscription'),
    'sub.get.body': (world) => world.make('bob', 'PUT', '/repos/alice/demo/subscription'),
    'sub.slash.GET': (world) => world.make('bob', 'DELETE', '/repos/alice/demo/subscription'),
    'sub.dotgit.GET': (world) => world.make('bob', 'DELETE', '/repos/alice/demo/subscription'),
  },
})
