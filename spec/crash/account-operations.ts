import { generateKeyPairSync } from 'node:crypto'
import { type ClientModel, removePerson, type Visibility } from './client-model.ts'
import { type ClientState, type Operation, type OperationMaker, pickUser } from './operation.ts'

const admin = (login: string) => `/admin/users/${login}`

const createPerson: OperationMaker = (model, _random, known) => {
  if (model.people.size >= 3) return undefined
  const login = `${model.name}-t${known.next()}`
  const person = { fullName: `T of ${model.name}`, visibility: 'public' } as const
  return {
    method: 'POST',
    path: '/admin/users',
    body: { username: login, full_name: person.fullName, email: `${login}@example.org` },
    change: (after) => void after.people.set(login, person),
  }
}

const editPerson: OperationMaker = (model, random, known) => {
  const [login, person] = random.pick([...model.people]) ?? []
  if (login === undefined || person === undefined) return undefined
  const visibility = random.pick<Visibility>(['public', 'public', 'limited', 'private'])!
  const fullName = random.likely(0.5) ? person.fullName : `named as ${known.next()}`
  return {
    method: 'PATCH',
    path: admin(login),
    body: { full_name: fullName, visibility },
    change: (after) => void after.people.set(login, { fullName, visibility }),
  }
}

const deletePerson: OperationMaker = (model, random) => {
  const login = random.pick([...model.people.keys()].filter((one) => one.includes('-t')))
  if (login === undefined) return undefined
  return {
    method: 'DELETE',
    path: `${admin(login)}?purge=true`,
    change: (after) => removePerson(after, login),
  }
}

/** Creates a token for the first user without one, if any. */
export const firstToken = (model: ClientModel, known: ClientState): Operation | undefined => {
  const login = [...model.people.keys()].find((one) => !known.secrets.has(one))
  return login === undefined ? undefined : createToken(login, known)
}

const createToken = (login: string, known: ClientState): Operation => {
  const name = `t${known.next()}`
  return {
    method: 'POST',
    path: `/users/${login}/tokens`,
    body: { name, scopes: ['all'] },
    change: (after) => void after.tokens.push([login, name]),
    onAnswer: ({ sha1 }) => void known.secrets.set(login, { name, secret: sha1 }),
  }
}

const createOrDeleteToken: OperationMaker = (model, random, known) => {
  const login = pickUser(model, random, known)
  if (login === undefined) return undefined
  const own = model.tokens.filter(([one]) => one === login)
  if (own.length < 3) return createToken(login, known)
  const [, name] = own.find(([, one]) => one !== known.secrets.get(login)?.name)!
  return {
    method: 'DELETE',
    path: `/users/${login}/tokens/${name}`,
    change(after) {
      after.tokens = after.tokens.filter(([one, other]) => one !== login || other !== name)
    },
  }
}

const newKey = (): string => {
  const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const parts = [Buffer.from('ssh-ed25519'), Buffer.from(x!, 'base64url')]
  const sized = parts.map((part) => Buffer.concat([Buffer.of(0, 0, 0, part.length), part]))
  return `ssh-ed25519 ${Buffer.concat(sized).toString('base64')}`
}

const addOrDeleteKey: OperationMaker = (model, random, known) => {
  const old = random.pick(model.keys)
  const id = known.keyIds.get(old?.title ?? '')
  if (old !== undefined && id !== undefined && known.secrets.has(old.login) && random.likely(0.5))
    return {
      method: 'DELETE',
      path: `/user/keys/${id}`,
      as: old.login,
      change(after) {
        after.keys = after.keys.filter(({ title }) => title !== old.title)
      },
    }
  const login = pickUser(model, random, known)
  if (login === undefined || model.keys.length >= 6) return undefined
  const added = { login, title: `k${known.next()}`, key: newKey() }
  return {
    method: 'POST',
    path: '/user/keys',
    body: { title: added.title, key: added.key },
    as: login,
    change: (after) => void after.keys.push(added),
    onAnswer: ({ id }) => void known.keyIds.set(added.title, id),
  }
}

export const accountMakers: { weight: number; make: OperationMaker }[] = [
  { weight: 2, make: createPerson },
  { weight: 3, make: editPerson },
  { weight: 1, make: deletePerson },
  { weight: 2, make: createOrDeleteToken },
  { weight: 3, make: addOrDeleteKey },
]
