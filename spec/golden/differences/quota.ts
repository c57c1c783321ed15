import { uncovered } from '../quota-notes.ts'
import { inAll } from './shapes.ts'
import type { Difference } from './table.ts'

/** The differences of quota: rules, groups, usage and the lists of what counts. */
export const quota: readonly Difference[] = [
  {
    title: 'Rules, groups and members of a group are counted in `X-Total-Count`',
    reason: 'Every list is paged.',
    records: inAll('authentication', 'quota-evaluation', 'quota-groups', 'quota-rules'),
    lines: ['header x-total-count absent → "*"'],
  },
  {
    title: '`subjects` of a rule is always present',
    reason: 'Fields of the API document are always present. A Forgejo leaves an empty one out.',
    records: inAll('quota-evaluation', 'quota-groups', 'quota-rules'),
    lines: ['body* adds subjects'],
  },
  {
    title: 'Names of rules and groups have at most 255 characters, and no control characters',
    reason: 'They are keys of the store. A Forgejo has no limit.',
    records: {
      'quota-groups': ['groups.create.long'],
      'quota-rules': ['rules.create.name.256', 'rules.create.name.newline', 'rules.create.name.nul'],
    },
    lines: ['status 201 → 422'],
  },
  {
    title: 'Names of rules and groups have at most 255 characters, and no control characters',
    reason: 'They are keys of the store. A Forgejo has no limit.',
    records: { 'quota-rules': ['rules.get.name.256', 'rules.get.name.nul'] },
    lines: ['status 200 → 404'],
  },
  {
    title: 'A limit beyond 2^53-1 is 422',
    reason: 'JSON clients could not read it back exactly.',
    records: {
      'quota-rules': ['rules.create.limit.max', 'rules.create.limit.min', 'rules.create.limit.2^53+1'],
    },
    lines: ['status 201 → 422'],
  },
  {
    title: 'A limit beyond 2^53-1 is 422',
    reason: 'JSON clients could not read it back exactly.',
    records: { 'quota-rules': ['rules.edit.*', 'rules.list.bulk*'] },
    lines: ['body*.limit 9223372036854776000 → -5'],
  },
  {
    title: 'A number is judged by its value: `1e3` is 1000',
    reason: 'RFC 8259 has one kind of number. A Forgejo answers 422.',
    records: { 'quota-rules': ['rules.create.limit.1e3'] },
    lines: ['status 422 → 201'],
  },
  {
    title: 'The subject of wikis is `size:wiki`',
    reason: 'The API document says so. The dialect `forgejo` takes `size:assets:wiki` for it.',
    records: { 'quota-rules': ['rules.create.subject[size:assets:wiki]', 'rules.edit.wiki'] },
    lines: ['status 201 → 422', 'status 422 → 200'],
  },
  {
    title: 'Every list is paged: `limit` without `page` counts, and `Link` is sent',
    reason:
      'Paging works the same way everywhere. On many lists a Forgejo ignores `limit` alone, and sends no `Link`.',
    records: { 'quota-rules': ['rules.list.paging'] },
    lines: ['body[].*'],
  },
  {
    title: 'Names of rules and groups have at most 255 characters, and no control characters',
    reason: 'They are keys of the store. A Forgejo has no limit.',
    records: { 'quota-rules': ['rules.list.bulk[paging['] },
    lines: ['body names [* → [*'],
  },
  {
    title: 'Names of rules and groups have at most 255 characters, and no control characters',
    reason: 'They are keys of the store. A Forgejo has no limit.',
    records: { 'quota-groups': ['groups.list'] },
    lines: ['body.length 12 → 11'],
  },
  {
    title: 'A rule twice in a group, or a group twice with a user, is 422',
    reason: 'The request is wrong, not the server: a Forgejo answers 500.',
    records: { 'quota-groups': ['groups.create.rules.dup', 'groups.set.dup'] },
    lines: ['status 500 → 422'],
  },
  {
    title: 'The groups of a user are set by a list: `null` is 422',
    reason: 'A Forgejo answers 204 and changes nothing.',
    records: { 'quota-groups': ['groups.set.null'] },
    lines: ['status 204 → 422'],
  },
  {
    title: '`/user/quota/check` is true for over',
    reason: 'The API document says so. The dialect `forgejo` answers true for within.',
    records: { 'quota-user': ['quota.check*', 'orgquota.check*'] },
    lines: ['body true → false'],
  },
  {
    title: 'The subject `none` is not known',
    reason: "It is not in the API document's table.",
    records: {
      'quota-evaluation': ['*check[none]'],
      'quota-user': ['quota.check[none]', 'orgquota.check[none]'],
    },
    lines: ['status 200 → 422'],
  },
  {
    title: 'The subject of wikis is `size:wiki`',
    reason: 'The API document says so. The dialect `forgejo` takes `size:assets:wiki` for it.',
    records: { 'quota-user': ['quota.check[size:assets:wiki]', 'orgquota.check[size:assets:wiki]'] },
    lines: ['status 200 → 422'],
  },
  {
    title: 'Nonsense for `page` or `limit` of a quota list is 422',
    reason: 'The API document has page and limit as integers. A Forgejo takes the default.',
    records: {
      'quota-user': [
        '*paging[page=abc]',
        '*paging[page=1.5]',
        '*paging[page=]',
        '*paging[limit=]',
        '*paging[*=-*',
        '*paging[limit=abc]',
      ],
    },
    lines: ['status 200 → 422'],
  },
  {
    title: 'Past the end of a list, `prev` is its last page',
    reason: 'A Forgejo names the one before that.',
    records: {
      'quota-user': ['*paging[page=999*', '*paging[limit=3&page=9223372036854775807]'],
    },
    lines: [
      'header link "<*page=1>; rel=\\"first\\", <*rel=\\"prev\\"" → "<*page=1>; rel=\\"first\\", <*rel=\\"prev\\""',
    ],
  },
  {
    title: '`Link` carries the parameters that the route reads, once each',
    reason:
      'A client could make the headers of the answer as long as it likes. A Forgejo carries all of them.',
    records: {
      'quota-user': ['*paging[per_page=1]', '*paging[foo=*', '*paging[limit=2&limit=3]'],
    },
    lines: ['header link "* → "*'],
  },
  {
    title: 'Package types are written in lower case, as in the packages API',
    reason: 'One name for one thing. In the quota list a Forgejo sends the name for people, `Generic`.',
    records: { 'quota-user': ['quota.packages.*', '*quota.list.packages*'] },
    lines: ['body[].type "Generic" → "generic"'],
  },
  {
    title: 'The quota list of packages has one item for each version',
    reason: 'A Forgejo has one for each file, with the size of the whole version in each.',
    records: { 'quota-user': ['quota.list.packages'] },
    lines: ['header x-total-count "4" → "3"', 'body.length 4 → 3'],
  },
  {
    title: 'Artifacts have the address of their run',
    reason: 'The API document lists `html_url`; a Forgejo sends it empty.',
    records: { 'quota-user': ['quota.artifacts.*', 'quota.list.artifacts'] },
    lines: ['body[].html_url "" → "<host>/*/actions/runs/1"'],
  },
  {
    title: 'A private organization does not exist for others',
    reason:
      'Its existence is not told. A Forgejo answers 403 on its quota, and an empty list of repositories.',
    records: { 'quota-user': ['orgquota.read.secretorg#2', 'orgquota.read.secretorg#5'] },
    lines: ['status 403 → 404'],
  },
  {
    title: 'Lists without items are `[]`',
    reason: 'A list without items is a list. For the assignees of an issue a Forgejo sends null.',
    records: { 'quota-user': ['usage.issue.*'] },
    lines: ['body.assignees null → []'],
  },
  {
    title: 'Authors are shown as the viewer may see them',
    reason: 'A Forgejo shows the author of a comment or release as others see it, to the author as well.',
    records: { 'quota-user': ['usage.release', 'usage.release.acme', 'usage.comment'] },
    lines: ['body.*.email "alice@noreply.127.0.0.1" → "alice@example.com"', 'body.*.active false → true'],
  },
  {
    title: 'A server without repositories has no archives to link to',
    reason: 'These recordings are replayed without git, so that sizes can be set.',
    records: { 'quota-user': ['usage.release', 'usage.release.acme'] },
    lines: ['body.*ball_url "*" → ""', 'body.hide_archive_links false → true'],
  },
  {
    title: 'Attachments are files: an external link is 422',
    reason: 'There would be nothing to count.',
    records: { 'quota-user': ['usage.att.external'] },
    lines: ['status 201 → 422'],
  },
  {
    title: 'The new address of a repository is 308 for requests that are not GET',
    reason: 'RFC 9110 §15.4.9: 301 lets a client turn a PUT into a GET.',
    records: { 'quota-user': ['final.repo.renamed.star'] },
    lines: ['status 301 → 308'],
  },
  {
    title: 'Every error has a `url`',
    reason: 'The API document says so. For a locked account and for `Sudo` a Forgejo sends a message alone.',
    records: { 'quota-user': ['final.inactive.basic', 'final.prohibited.token'] },
    lines: ['body adds url'],
  },
  {
    title: '`/users/search` answers a bare array',
    reason: 'The API document has UserList. The dialect `forgejo` answers `{data,ok}`.',
    records: { 'quota-user': ['final.inactive.search'] },
    lines: ['body {"data":[* → [*'],
  },
  {
    title: 'A locked account is not active, and is 403 however it signs in',
    reason:
      'There is one switch: `prohibit_login: true` and `active: false` are the same. With Basic a Forgejo answers 401.',
    records: { 'quota-user': ['final.prohibit', 'final.prohibited.basic'] },
    lines: ['body.active true → false', 'status 401 → 403'],
  },
  {
    title: 'A password need not be changed',
    reason: '`must_change_password` is accepted, because clients send it, and ignored.',
    records: { 'quota-user': ['final.mustchange.basic'] },
    lines: ['status 403 → 200'],
  },
  {
    title: 'A subject is written exactly',
    reason: 'The API document has "exact strings". A Forgejo takes spaces around it.',
    records: { 'quota-user': ['quota.check.bad[ size:all ]'] },
    lines: ['status 200 → 422'],
  },
  {
    title: 'What no rule of a group covers is within quota',
    reason:
      'A limit limits what it names; wikis are always within, as the API document says. A Forgejo denies what is not covered.',
    records: { 'quota-evaluation': uncovered() },
    lines: ['body false → true'],
  },
  {
    title: 'The subject of wikis is `size:wiki`',
    reason: 'The API document says so. The dialect `forgejo` takes `size:assets:wiki` for it.',
    records: { 'quota-evaluation': ['eval.wiki.*.quota'] },
    lines: ['body.groups[].rules[].subjects[] "size:assets:wiki" → "size:wiki"'],
  },
  {
    title: 'Nothing is refused because of quota',
    reason: 'The API document: "The quota engine enforces nothing." A Forgejo answers 413.',
    records: { 'quota-evaluation': ['ini.total0.create'] },
    lines: ['status 413 → 201'],
  },
  {
    title: 'A preflight of CORS is 204',
    reason: 'It has no body. A Forgejo answers 200.',
    records: { 'quota-evaluation': ['ini.cors.preflight', 'ini.cors.preflight.unknown'] },
    lines: ['status 200 → 204'],
  },
]
