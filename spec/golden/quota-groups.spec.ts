import { replay } from './replay.ts'
import { makeAll, WITHOUT_GIT } from './state.ts'

replay('quota-groups', {
  options: WITHOUT_GIT,
  async prepare(world) {
    await makeAll(world)
    const rules = [
      { name: 'r1', limit: 100, subjects: ['size:all'] },
      { name: 'r2', limit: -1, subjects: ['size:git:lfs'] },
      { name: 'r3', limit: 0, subjects: ['size:git:lfs'] },
    ]
    for (const rule of rules) await world.make('root1', 'POST', '/admin/quota/rules', rule)
  },
  steps: {
    'groups.list': async (world) => {
      for (const name of ['g5', 'G1']) await world.make('root1', 'POST', '/admin/quota/groups', { name })
    },
    'groups.rule.add3': (world) => world.make('root1', 'PUT', '/admin/quota/groups/g1/rules/r1'),
    'groups.user.add.upper': (world) => world.make('root1', 'PUT', '/admin/quota/groups/g1/users/alice'),
    'groups.user.add.missing': (world) => world.make('root1', 'PUT', '/admin/quota/groups/g1/users/acme'),
    'groups.set.string': (world) =>
      world.make('root1', 'POST', '/admin/users/alice/quota/groups', { groups: ['g1'] }),
    'groups.del.used.again': (world) => world.make('root1', 'DELETE', '/admin/quota/groups/g3'),
  },
})
