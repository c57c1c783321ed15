import { replay } from './replay.ts'
import { ALL_REPOSITORIES } from './repositories-state.ts'
import { makeRepositories, WITHOUT_GIT } from './state.ts'

replay(
  'search',
  {
    only: ['search.*', 'usersearch.root1[q=*'],
    options: WITHOUT_GIT,
    leaveOut: {
      'search.sort#7': 'what was made in the last second comes first, which differs from run to run',
    },
    prepare: (world) => makeRepositories(world, ALL_REPOSITORIES),
  },
  // The rest uses the dialect that sends the list as Forgejo does, so that its items are compared.
  { options: { ...WITHOUT_GIT, dialect: 'forgejo' } },
)
