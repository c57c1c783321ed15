import fc from 'fast-check'
import { generateSshKey } from '../support/keygen.ts'
import {
  type Level,
  type Model,
  type ModelRepository,
  type ModelTeam,
  UNITS,
  type Visibility,
} from './model.ts'

const USERS = ['ann', 'ben', 'carl', 'dora']
const ORGANIZATIONS = ['acme', 'beta']
const NAMES = ['one', 'two', 'three']

const visibility = fc.constantFrom<Visibility>('public', 'public', 'limited', 'private')
const rarely = fc.integer({ min: 0, max: 7 }).map((one) => one === 0)
const unitLevel = fc.constantFrom<Level>('none', 'read', 'write', 'write', 'write')

let keys: string[] | undefined
/** Made once, by the real ssh-keygen. */
const sshKeys = () => {
  keys ??= USERS.map(() => generateSshKey('ed25519').key)
  return keys
}

const userOf = (login: string, at: number) =>
  fc.record({
    ...{ login: fc.constant(login), visibility, admin: rarely, prohibited: rarely, restricted: rarely },
    active: rarely.map((one) => !one),
    keys: fc.boolean().map((hasKey) => (hasKey ? [sshKeys()[at]!] : [])),
    follows: fc.subarray(USERS.filter((one) => one !== login)),
    stars: fc.subarray(['ann/one', 'acme/one', 'beta/two']),
  })

const ROOT = {
  ...{ login: 'root1', admin: true, active: true, prohibited: false, restricted: false },
  ...{ visibility: 'public' as const, keys: [], follows: [], stars: [] },
}

const teamOf = (id: number): fc.Arbitrary<ModelTeam> =>
  fc.record({
    ...{ id: fc.constant(id), name: fc.constant(`team${id}`), create: fc.boolean(), all: fc.boolean() },
    level: fc.constantFrom<Level>('read', 'write', 'write', 'admin'),
    units: fc.oneof(
      fc.constant(Object.fromEntries(UNITS.map((unit) => [unit, 'write'])) as ModelTeam['units']),
      fc.record(
        Object.fromEntries(UNITS.map((unit) => [unit, unitLevel])) as Record<
          (typeof UNITS)[number],
          typeof unitLevel
        >,
      ),
    ),
    repositories: fc.subarray(NAMES),
    members: fc.subarray(USERS),
  })

const organizationOf = (name: string, at: number) => {
  const owners = fc.subarray(['root1', ...USERS], { minLength: 1, maxLength: 2 }).map((members) => ({
    ...{ id: at * 10, name: 'Owners', level: 'owner' as Level, all: true, create: true, members },
    ...{
      repositories: [],
      units: Object.fromEntries(UNITS.map((unit) => [unit, 'owner'])) as ModelTeam['units'],
    },
  }))
  return fc.record({
    ...{ name: fc.constant(name), visibility },
    teams: fc.tuple(owners, teamOf(at * 10 + 1), teamOf(at * 10 + 2)).map((teams) => [...teams]),
  })
}

const repositoryOf = (owner: string, name: string): fc.Arbitrary<ModelRepository> =>
  fc.record({
    ...{ owner: fc.constant(owner), name: fc.constant(name), private: fc.boolean() },
    ...{ archived: rarely, protected: rarely },
    collaborators: fc.dictionary(
      fc.constantFrom(...USERS.filter((one) => one !== owner)),
      fc.constantFrom<Level>('read', 'write', 'admin'),
      { maxKeys: 2 },
    ),
  })

/** Each of the same few accounts and repositories, or not: two models are what a server was and became. */
export const anyModel: fc.Arbitrary<Model> = fc
  .record({
    open: rarely.map((one) => !one),
    users: fc.tuple(...USERS.map(userOf)),
    organizations: fc.tuple(...ORGANIZATIONS.map((name, at) => organizationOf(name, at + 1))),
    repositories: fc.tuple(
      ...[...ORGANIZATIONS, 'ann'].flatMap((owner) => NAMES.map((name) => repositoryOf(owner, name))),
    ),
    gone: fc.record({
      users: fc.subarray(USERS, { maxLength: 1 }),
      organizations: rarely.map((one) => (one ? ['beta'] : [])),
      repositories: fc.subarray([...NAMES, ...NAMES]),
    }),
  })
  .map(({ open, users, organizations, repositories, gone }) => {
    const names = new Set<string>([...gone.users, ...gone.organizations])
    return {
      open,
      users: [ROOT, ...users.filter(({ login }) => !names.has(login))],
      organizations: organizations
        .filter(({ name }) => !names.has(name))
        .map(({ teams, ...one }) => ({
          ...one,
          teams: teams.map((team) => ({ ...team, members: withOwner(team, names) })),
        })),
      repositories: repositories.filter(
        ({ owner, name }) => !names.has(owner) && !(owner !== 'ann' && gone.repositories[0] === name),
      ),
    }
  })

/** The team of the owners always has one. */
const withOwner = ({ level, members }: ModelTeam, gone: ReadonlySet<string>): string[] => {
  const left = members.filter((login) => !gone.has(login))
  return level === 'owner' && left.length === 0 ? ['root1'] : left
}
