import {
  type ClientModel,
  mayRead,
  ownsOrganization,
  pathOf,
  removeRepository,
  type Target,
} from './client-model.ts'
import { type OperationMaker, pickUser, SHARED_REPOSITORIES } from './operation.ts'
import type { Random } from './random.ts'

const createRepository: OperationMaker = (model, random, known) => {
  const login = pickUser(model, random, known)
  if (login === undefined || model.repositories.size >= 8) return undefined
  const isForAll = ownsOrganization(model, login) && random.likely(0.4)
  const owner = isForAll ? model.organization : login
  const number = known.next()
  const repository = {
    owner,
    name: `r${number}`,
    private: random.likely(0.3),
    description: `made as ${number}`,
  }
  const { name, description } = repository
  return {
    method: 'POST',
    path: isForAll ? `/orgs/${owner}/repos` : '/user/repos',
    body: { name, description, private: repository.private, auto_init: random.likely(0.4) },
    as: login,
    change(after) {
      after.repositories.set(`#${number}`, repository)
      after.watches.push([login, `#${number}`])
    },
  }
}

const createTaken: OperationMaker = (model, random, known) => {
  const taken = random.pick([...model.repositories.values()].filter(({ owner }) => known.secrets.has(owner)))
  if (taken === undefined) return undefined
  const body = { name: taken.name.toUpperCase() }
  return {
    method: 'POST',
    path: '/user/repos',
    body,
    as: taken.owner,
    refusedWith: 409,
    change: () => undefined,
  }
}

/** Prefers a repository with bulk entries, since removing and moving it takes longest. */
const ownRepository = (model: ClientModel, random: Random) => {
  const bulk = [...model.entries.values()].find(({ count = 1 }) => count > 1)
  const bulky = [...model.repositories].filter(([target]) => target === bulk?.location)
  return random.pick(bulky.length > 0 && random.likely(0.5) ? bulky : [...model.repositories])
}

const editRepository: OperationMaker = (model, random, known) => {
  const [target, repository] = ownRepository(model, random) ?? []
  if (target === undefined || repository === undefined) return undefined
  const edit = random.pick([
    { name: `r${known.next()}` },
    { private: !repository.private },
    { description: `edited as ${known.next()}` },
    { name: `r${known.next()}`, private: !repository.private },
  ])!
  return {
    method: 'PATCH',
    path: `/repos/${pathOf(model, target)}`,
    body: edit,
    change: (after) => void after.repositories.set(target, { ...repository, ...edit }),
  }
}

const transferRepository: OperationMaker = (model, random) => {
  const [target, repository] = ownRepository(model, random) ?? []
  const owner = random.pick([...model.people.keys(), model.organization])
  if (target === undefined || repository === undefined || owner === undefined) return undefined
  return {
    method: 'POST',
    path: `/repos/${pathOf(model, target)}/transfer`,
    body: { new_owner: owner },
    change: (after) => void after.repositories.set(target, { ...repository, owner }),
  }
}

const deleteRepository: OperationMaker = (model, random) => {
  const [target] = ownRepository(model, random) ?? []
  if (target === undefined) return undefined
  const path = `/repos/${pathOf(model, target)}`
  return { method: 'DELETE', path, change: (after) => removeRepository(after, target) }
}

const relate =
  (relation: 'stars' | 'watches'): OperationMaker =>
  (model, random, known) => {
    const login = pickUser(model, random, known)
    if (login === undefined) return undefined
    const targets = [...model.repositories.keys(), ...SHARED_REPOSITORIES]
    const target = random.pick(targets.filter((one) => mayRead(model, login, one)))!
    const isSet = model[relation].some(([one, other]) => one === login && other === target)
    const clears = isSet && random.likely(0.8)
    return {
      method: clears ? 'DELETE' : 'PUT',
      path: relationPath(relation, pathOf(model, target)),
      as: login,
      change(after) {
        after[relation] = after[relation].filter(([one, other]) => one !== login || other !== target)
        if (!clears) after[relation].push([login, target])
      },
    }
  }

const relationPath = (relation: 'stars' | 'watches', path: Target): string =>
  relation === 'stars' ? `/user/starred/${path}` : `/repos/${path}/subscription`

const follow: OperationMaker = (model, random, known) => {
  const login = pickUser(model, random, known)
  const others = [...model.people.keys(), 'ops'].filter(
    (one) => one !== login && model.people.get(one)?.visibility !== 'private',
  )
  const other = random.pick(others)
  if (login === undefined || other === undefined) return undefined
  const isSet = model.follows.some(([one, followed]) => one === login && followed === other)
  return {
    method: isSet ? 'DELETE' : 'PUT',
    path: `/user/following/${other}`,
    as: login,
    change(after) {
      after.follows = after.follows.filter(([one, followed]) => one !== login || followed !== other)
      if (!isSet) after.follows.push([login, other])
    },
  }
}

export const repositoryMakers: { weight: number; make: OperationMaker }[] = [
  { weight: 4, make: createRepository },
  { weight: 1, make: createTaken },
  { weight: 4, make: editRepository },
  { weight: 2, make: transferRepository },
  { weight: 2, make: deleteRepository },
  { weight: 8, make: relate('stars') },
  { weight: 4, make: relate('watches') },
  { weight: 6, make: follow },
]
