import { replay } from './replay.ts'
import { ACME, ALICE, BOB, CAROL, makeRepositories, WITHOUT_GIT } from './state.ts'

replay('starred', {
  options: WITHOUT_GIT,
  async prepare(world) {
    await makeRepositories(world, [...ACME.slice(0, 1), ...ALICE, ...BOB, ...CAROL])
    await makeRepositories(world, [{ owner: 'dave', name: 'daverepo' }])
    await world.make('bob', 'PUT', '/user/starred/bob/bobrepo')
  },
  steps: {
    'starred.paging[]': async (world) => {
      for (const { name } of CAROL) await world.make('frank', 'PUT', `/user/starred/carol/${name}`)
    },
  },
})
