import { uncovered } from '../quota-notes.ts'
import { inAll } from './shapes.ts'
import type { Difference } from './table.ts'

/** Differences of quota: rules, groups, usage and the lists of what counts. */
export const quota: readonly Difference[] = [
  {
    title: '`subjects` of a rule is always present',
    reason: 'Fields of the specification are always present. Forgejo leaves an empty one out.',
    records: inAll('quota-evaluation', 'quota-groups', 'quota-rules'),
    lines: ['body* adds subjects'],
  },
  {
    title:
      'Names of rules and groups have at most 255 characters, no control characters, and are not `.` or `..`',
    reason: 'They are keys of the store and parts of URLs. Forgejo has no limit.',
    records: {
      'quota-groups': ['groups.create.long'],
      'quota-rules': [
        'rules.create.name.256',
        'rules.create.name.dot',
        'rules.create.name.newline',
        'rules.create.name.nul',
      ],
    },
    lines: ['status 201 → 422'],
    also: [
      {
        records: { 'quota-rules': ['rules.get.name.256', 'rules.get.name.dots', 'rules.get.name.nul'] },
        lines: ['status 200 → 404'],
      },
      { records: { 'quota-rules': ['rules.list.bulk[paging['] }, lines: ['body names [* → [*'] },
    ],
  },
  {
    title: 'A limit beyond 2^53-1 is 422',
    reason: 'JSON clients could not read it back exactly.',
    records: {
      'quota-rules': ['rules.create.limit.max', 'rules.create.limit.min', 'rules.create.limit.2^53+1'],
    },
    lines: ['status 201 → 422'],
    also: [
      {
        records: { 'quota-rules': ['rules.edit.*', 'rules.list.bulk*'] },
        lines: ['body*.limit 9223372036854776000 → -5'],
      },
    ],
  },
  {
    title: 'A number is taken by its value: `1e3` is 1000',
    reason: 'RFC 8259 has one kind of number. Forgejo answers 422.',
    records: { 'quota-rules': ['rules.create.limit.1e3'] },
    lines: ['status 422 → 201'],
  },
  {
    title: 'The subject of wikis is `size:wiki`',
    reason: 'The specification says so. The dialect `forgejo` takes `size:assets:wiki` for it.',
    records: { 'quota-rules': ['rules.create.subject[size:assets:wiki]', 'rules.edit.wiki'] },
    lines: ['status 201 → 422', 'status 422 → 200'],
    also: [
      {
        records: { 'quota-user': ['quota.check[size:assets:wiki]', 'orgquota.check[size:assets:wiki]'] },
        lines: ['status 200 → 422'],
      },
      {
        records: { 'quota-evaluation': ['eval.wiki.*.quota'] },
        lines: ['body.groups[].rules[].subjects[] "size:assets:wiki" → "size:wiki"'],
      },
    ],
  },
  {
    title: 'A new group takes existing rules by name: `"rules": ["small"]`',
    reason: 'As plans do. Forgejo answers 422, and takes `{ "name": "small" }` only.',
    records: { 'quota-groups': ['groups.create.rules.names'] },
    lines: ['status 422 → 201'],
  },
  {
    title: 'A rule twice in a group, or a group twice with a user, is 422',
    reason: 'The request is wrong, not the server: Forgejo answers 500.',
    records: { 'quota-groups': ['groups.create.rules.dup', 'groups.set.dup'] },
    lines: ['status 500 → 422'],
  },
  {
    title: 'The groups of a user are set by a list: `null` is 422',
    reason: 'Forgejo answers 204 and changes nothing.',
    records: { 'quota-groups': ['groups.set.null'] },
    lines: ['status 204 → 422'],
  },
  {
    title: '`/user/quota/check` is true when the user is over quota',
    reason: 'The specification says so. The dialect `forgejo` answers true when the user is within.',
    records: { 'quota-user': ['quota.check*', 'orgquota.check*'] },
    lines: ['body true → false'],
  },
  {
    title: 'The subject `none` is unknown',
    reason: "It is not in the specification's table.",
    records: {
      'quota-evaluation': ['*check[none]'],
      'quota-user': ['quota.check[none]', 'orgquota.check[none]'],
    },
    lines: ['status 200 → 422'],
  },
  {
    title: 'Package types are written in lower case, as in the packages API',
    reason: 'A type has one name. In the quota list Forgejo sends the display name, `Generic`.',
    records: { 'quota-user': ['quota.packages.*', '*quota.list.packages*'] },
    lines: ['body[].type "Generic" → "generic"'],
  },
  {
    title: 'The quota list of packages has one item for each version',
    reason: 'Forgejo has one for each file, with the size of the whole version in each.',
    records: { 'quota-user': ['quota.list.packages'] },
    lines: ['header x-total-count "4" → "3"', 'body.length 4 → 3'],
  },
  {
    title: 'Artifacts have the address of their run',
    reason: 'The specification lists `html_url`; Forgejo sends it empty.',
    records: { 'quota-user': ['quota.artifacts.*', 'quota.list.artifacts'] },
    lines: ['body[].html_url "" → "<host>/*/actions/runs/1"'],
  },
  {
    title: 'A subject is written exactly',
    reason: 'The specification has "exact strings". Forgejo takes spaces around it.',
    records: { 'quota-user': ['quota.check.bad[ size:all ]'] },
    lines: ['status 200 → 422'],
  },
  {
    title: 'A subject that no rule covers is within quota',
    reason:
      'A limit applies to the subjects that it names, and the specification says that wikis are always within quota. On Forgejo an owner is over quota for a subject that no rule covers.',
    records: { 'quota-evaluation': uncovered() },
    lines: ['body false → true'],
  },
  {
    title: 'Nothing is refused because of quota',
    reason: 'The specification: "The quota engine enforces nothing." Forgejo answers 413.',
    records: { 'quota-evaluation': ['ini.total0.create'] },
    lines: ['status 413 → 201'],
  },
]
