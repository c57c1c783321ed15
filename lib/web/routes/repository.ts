import { AllotError } from '../../errors.ts'
import { repositoryUsages } from '../../records/schema/index.ts'
import { accessibleOwner } from '../owner-access.ts'
import { repositoryView } from '../repository.tsx'
import { page } from '../route.ts'

export const repositoryRoutes = [
  page({
    method: 'GET',
    path: '/-/storage/{owner}/repositories/{repo}',
    who: 'user',
    async handle({ user, frame, params }, { store, hosting, settings, ...services }) {
      const owner = await accessibleOwner({ store, hosting, settings, ...services }, user, params.owner)
      const repository = await hosting.repositories.find(user, owner.name, params.repo)
      const container = repository && (await store.read((tx) => repositoryUsages.get(tx, [repository.id])))
      if (repository === undefined || container === undefined)
        throw new AllotError('not_found', 'there is no such repository')
      const clone =
        settings.clones && frame.site !== undefined
          ? `${frame.site}/${owner.name}/${repository.name}.git`
          : undefined
      return repositoryView(frame, { owner: owner.name, repository, container, clone })
    },
  }),
]
