import { replay } from './replay.ts'
import { ALL_REPOSITORIES } from './repositories-state.ts'
import { CAROL, makeRepositories, WITHOUT_GIT } from './state.ts'

replay('repository-lists', {
  options: WITHOUT_GIT,
  async prepare(world) {
    await makeRepositories(world, ALL_REPOSITORIES)
    for (const { name } of CAROL) await world.make('frank', 'PUT', `/user/starred/carol/${name}`)
    for (const name of ['alice/blank', 'bob/bobsecret'])
      await world.make('bob', 'PUT', `/user/starred/${name}`)
    await world.make('bob', 'PUT', '/repos/alice/blank/subscription')
  },
})
