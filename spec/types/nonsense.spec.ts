import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { memory } from '../../drivers/memory/index.ts'
import { createAllot, createQuota } from '../../lib/index.ts'

/*
 * What JavaScript can pass to the methods that run in the process of a host. A method that is not in the
 * table fails the last test, so a new method is refused nonsense, too.
 */

const allot = await createAllot({ driver: memory(), repositories: false })
const quota = await createQuota({ driver: memory() })
after(() => Promise.all([allot.close(), quota.close()]))

const rule = { name: 'r', limit: 1, subjects: ['size:all'] }
const owner = 'alice'
await allot.accounts.createUser({ name: owner })
for (const { rules, groups } of [allot.quota, quota]) {
  await rules.create({ ...rule, subjects: ['size:all'] })
  await groups.create({ name: 'g', rules: ['r'] })
}

const circle: { self?: object } = {}
circle.self = circle
const NONSENSE: readonly unknown[] = [
  ...[undefined, null, true, 5, Number.NaN, 5n, '', 'x', Symbol('x'), () => 5],
  ...[
    {},
    [],
    [null],
    [[]],
    ['x', 'x'],
    Object.create(null),
    circle,
    new Map([['x', []]]),
    new Date(Number.NaN),
  ],
]

/** Whether one of {@link NONSENSE} is right for an argument. */
type IsRight = (value: unknown) => boolean
const isNever: IsRight = () => false
const isAbsent: IsRight = (value) => value === undefined
const isFlag: IsRight = (value) => typeof value === 'boolean'
const isText: IsRight = (value) => typeof value === 'string'
const isName: IsRight = (value) => value === 'x'
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const isEmptyList: IsRight = (value) => Array.isArray(value) && value.length === 0
const optional =
  (isRight: IsRight): IsRight =>
  (value) =>
    isAbsent(value) || isRight(value)

const subject = 'size:all'
const entry = { kind: 'artifacts', key: 'k', owner, name: 'n', size: 0 }
const name = [owner, isText] as const
const text = ['none', isText] as const
const by = [
  { id: 1, username: 'root' },
  isAbsent,
  { id: (value: unknown) => value === 5, username: isText },
] as const
const slice = [
  { offset: 0, limit: 1 },
  isNever,
  { offset: (value: unknown) => value === 5, limit: (value: unknown) => value === 5 },
] as const
const entryName = [{ kind: 'artifacts', key: 'k' }, isNever, { kind: isNever, key: isText }] as const
const listener = [() => undefined, (value: unknown) => typeof value === 'function'] as const

/** An argument that is right, which nonsense is right in its place, and the same for its members. */
type Argument = readonly [right: unknown, isRight: IsRight, members?: Readonly<Record<string, IsRight>>]
type Methods = Readonly<Record<string, readonly Argument[]>>

const ruleMembers = { name: isName, limit: (value: unknown) => value === 5, subjects: isEmptyList }
const planMembers = {
  rules: optional(isEmptyList),
  groups: optional(isEmptyList),
  assignments: (value: unknown) => isAbsent(value) || (isObject(value) && Object.keys(value).length === 0),
  prune: optional(isFlag),
}

const QUOTA_METHODS: Methods = {
  'rules.list': [slice],
  'rules.get': [text],
  'rules.create': [[{ ...rule, name: 'r' }, isNever, ruleMembers], by],
  'rules.edit': [
    ['r', isText],
    [{ limit: 2 }, isObject, { limit: optional(ruleMembers.limit), subjects: optional(isEmptyList) }],
    by,
  ],
  'rules.remove': [text, by],
  'groups.list': [slice],
  'groups.get': [text],
  'groups.create': [[{ name: 'g' }, isNever, { name: isName, rules: optional(isEmptyList) }], by],
  'groups.remove': [text, by],
  'groups.addRule': [text, text, by],
  'groups.removeRule': [text, text, by],
  'groups.assign': [name, text, by],
  'groups.unassign': [name, text, by],
  'groups.setFor': [name, [[], isEmptyList], by],
  'groups.assignedTo': [name],
  info: [name],
  isOver: [name, [subject, isNever]],
  explain: [name, [subject, isAbsent]],
  history: [name, [{ days: 3 }, optional(isObject), { days: (value) => isAbsent(value) || value === 5 }]],
  over: [slice, [{ within: 0 }, optional(isObject), { subject: isAbsent, within: isAbsent }]],
  simulate: [[{ prune: false }, isObject, { ...planMembers, defaultGroups: optional(isEmptyList) }], slice],
  apply: [
    [{ prune: false }, isObject, planMembers],
    [{ dryRun: true }, optional(isObject), { dryRun: optional(isFlag), by: isAbsent }],
  ],
}

const LEDGER_METHODS: Methods = {
  'ledger.get': [entryName],
  'ledger.list': [[{ kind: 'artifacts', prefix: 'a' }, isNever, { kind: isNever, prefix: isName }]],
  'ledger.put': [
    [entry, isNever, { ...entryName[2], owner: isName, name: isName, size: (value) => value === 5 }],
  ],
  'ledger.delete': [entryName],
  'ledger.batch': [[[], isEmptyList]],
}

const EVENT_METHODS: Methods = {
  on: [['quota', isNever], listener],
  off: [
    ['quota', isNever],
    [() => undefined, () => true],
  ],
}

/** Listeners of requests, which spec/hosts calls, and methods without arguments. */
const NOT_IN_TABLE = ['handler', 'fetch', 'verify', 'close']

const INTERFACES: [name: string, target: object, methods: Methods][] = [
  ['allot.quota', allot.quota, QUOTA_METHODS],
  ['allot.ledger', { ledger: allot.ledger }, LEDGER_METHODS],
  ['allot', { on: allot.on, off: allot.off, export: allot.export }, { ...EVENT_METHODS, export: [listener] }],
  [
    'createQuota',
    quota,
    {
      ...QUOTA_METHODS,
      ...LEDGER_METHODS,
      ...EVENT_METHODS,
      'owners.list': [slice],
      'owners.remove': [text],
      export: [listener],
    },
  ],
]

/** The methods of an object and of its members, as `groups.assign`. */
const methodsOf = (target: object): string[] =>
  Object.entries(target).flatMap(([member, value]) => {
    if (typeof value === 'function') return [member]
    return Object.entries(value).flatMap(([inner, method]) =>
      typeof method === 'function' ? [`${member}.${inner}`] : [],
    )
  })

const call = async (target: object, path: string, values: readonly unknown[]): Promise<unknown> => {
  const [first = '', second] = path.split('.')
  const member = (target as Record<string, unknown>)[first]
  const method = second === undefined ? member : (member as Record<string, unknown>)[second]
  return (method as (...values: readonly unknown[]) => unknown)(...values)
}

/** @throws AssertionError unless the call returns, or is refused with an error that says why */
const check = async (
  target: object,
  path: string,
  values: readonly unknown[],
  isRight: boolean,
  place: string,
) => {
  const error = await call(target, path, values).then(
    () => undefined,
    (error: Error & { code?: string }) => error,
  )
  const given = `${place}: ${inspect(values)}: ${error?.stack}`
  if (error !== undefined) assert.equal(error.name, 'AllotError', given)
  if (!isRight) assert.equal(error?.code, 'invalid', given)
}

describe('A method that runs in the process of a host', () => {
  for (const [what, target, methods] of INTERFACES) {
    for (const [path, values] of Object.entries(methods))
      it(`${what}: ${path} refuses values of another type, each in place of each argument and member`, async () => {
        for (const [index, [right, isRight, members = {}]] of values.entries())
          for (const value of NONSENSE) {
            const withArgument = (given: unknown) =>
              values.map(([other], each) => (each === index ? given : other))
            await check(target, path, withArgument(value), isRight(value), `argument ${index + 1}`)
            for (const [member, isRightMember] of Object.entries(members))
              await check(
                target,
                path,
                withArgument({ ...(right as object), [member]: value }),
                isRightMember(value),
                `member ${member} of argument ${index + 1}`,
              )
          }
      })

    it(`${what}: each method is in the table of this spec`, () => {
      const missing = methodsOf(target).filter((path) => !(path in methods || NOT_IN_TABLE.includes(path)))
      assert.deepEqual(missing, [])
    })
  }
})
