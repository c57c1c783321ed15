import type { Chance } from './chance.ts'
import { actor, LANDMARKS, type Maker } from './deed.ts'
import { type Family, isHead, mayRead, pathOf, removeRepository, type Target } from './family.ts'

const createRepository: Maker = (family, chance, known) => {
  const login = actor(family, chance, known)
  if (login === undefined || family.repositories.size >= 8) return undefined
  const isForAll = isHead(family, login) && chance.likely(0.4)
  const owner = isForAll ? family.organization : login
  const number = known.next()
  const repository = {
    owner,
    name: `r${number}`,
    private: chance.likely(0.3),
    description: `made as ${number}`,
  }
  const { name, description } = repository
  return {
    method: 'POST',
    path: isForAll ? `/orgs/${owner}/repos` : '/user/repos',
    body: { name, description, private: repository.private, auto_init: chance.likely(0.4) },
    as: login,
    change(after) {
      after.repositories.set(`#${number}`, repository)
      after.watches.push([login, `#${number}`])
    },
  }
}

const createTaken: Maker = (family, chance, known) => {
  const taken = chance.pick([...family.repositories.values()].filter(({ owner }) => known.secrets.has(owner)))
  if (taken === undefined) return undefined
  const body = { name: taken.name.toUpperCase() }
  return { method: 'POST', path: '/user/repos', body, as: taken.owner, refused: 409, change: () => undefined }
}

/** Often the one with a hoard, if there is one: its removal and its moves are the longest. */
const ownRepository = (family: Family, chance: Chance) => {
  const hoard = [...family.entries.values()].find(({ times = 1 }) => times > 1)
  const hoarding = [...family.repositories].filter(([target]) => target === hoard?.lies)
  return chance.pick(hoarding.length > 0 && chance.likely(0.5) ? hoarding : [...family.repositories])
}

const editRepository: Maker = (family, chance, known) => {
  const [target, repository] = ownRepository(family, chance) ?? []
  if (target === undefined || repository === undefined) return undefined
  const edit = chance.pick([
    { name: `r${known.next()}` },
    { private: !repository.private },
    { description: `edited as ${known.next()}` },
    { name: `r${known.next()}`, private: !repository.private },
  ])!
  return {
    method: 'PATCH',
    path: `/repos/${pathOf(family, target)}`,
    body: edit,
    change: (after) => void after.repositories.set(target, { ...repository, ...edit }),
  }
}

const transferRepository: Maker = (family, chance) => {
  const [target, repository] = ownRepository(family, chance) ?? []
  const owner = chance.pick([...family.people.keys(), family.organization])
  if (target === undefined || repository === undefined || owner === undefined) return undefined
  return {
    method: 'POST',
    path: `/repos/${pathOf(family, target)}/transfer`,
    body: { new_owner: owner },
    change: (after) => void after.repositories.set(target, { ...repository, owner }),
  }
}

const deleteRepository: Maker = (family, chance) => {
  const [target] = ownRepository(family, chance) ?? []
  if (target === undefined) return undefined
  const path = `/repos/${pathOf(family, target)}`
  return { method: 'DELETE', path, change: (after) => removeRepository(after, target) }
}

const relate =
  (relation: 'stars' | 'watches'): Maker =>
  (family, chance, known) => {
    const login = actor(family, chance, known)
    if (login === undefined) return undefined
    const targets = [...family.repositories.keys(), ...LANDMARKS]
    const target = chance.pick(targets.filter((one) => mayRead(family, login, one)))!
    const isSet = family[relation].some(([one, other]) => one === login && other === target)
    const clears = isSet && chance.likely(0.8)
    return {
      method: clears ? 'DELETE' : 'PUT',
      path: relationPath(relation, pathOf(family, target)),
      as: login,
      change(after) {
        after[relation] = after[relation].filter(([one, other]) => one !== login || other !== target)
        if (!clears) after[relation].push([login, target])
      },
    }
  }

const relationPath = (relation: 'stars' | 'watches', path: Target): string =>
  relation === 'stars' ? `/user/starred/${path}` : `/repos/${path}/subscription`

const follow: Maker = (family, chance, known) => {
  const login = actor(family, chance, known)
  const others = [...family.people.keys(), 'ops'].filter(
    (one) => one !== login && family.people.get(one)?.visibility !== 'private',
  )
  const other = chance.pick(others)
  if (login === undefined || other === undefined) return undefined
  const isSet = family.follows.some(([one, followed]) => one === login && followed === other)
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

export const repositoryMakers: { weight: number; make: Maker }[] = [
  { weight: 4, make: createRepository },
  { weight: 1, make: createTaken },
  { weight: 4, make: editRepository },
  { weight: 2, make: transferRepository },
  { weight: 2, make: deleteRepository },
  { weight: 8, make: relate('stars') },
  { weight: 4, make: relate('watches') },
  { weight: 6, make: follow },
]
