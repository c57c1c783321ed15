import type { Difference } from './table.ts'

/** Paging, which is the same for lists and searches. */
const paging: readonly Difference[] = [
  {
    title: 'Past the end of a list, `prev` is its last page',
    reason: 'A Forgejo names the one before that.',
    records: {
      'repository-lists': ['*paging[page=99999999999999999999]', '*paging[limit=3&page=9223372036854775807]'],
      search: ['*paging[page=999*', '*paging[limit=3&page=9223372036854775807]'],
    },
    lines: [
      'header link "<*page=1*>; rel=\\"first\\", <* → "<*page=1*>; rel=\\"first\\", <*; rel=\\"prev\\""',
    ],
  },
  {
    title: 'Past the end of a list, `prev` is its last page',
    reason: 'A Forgejo names the one before that.',
    records: { search: ['search.paging[limit=3&page=9223372036854775807]'] },
    lines: [
      'header link "<*page=1*>; rel=\\"first\\", <*page=20&q=r&uid=4>; * → "<*page=1*>; *, <*page=21&q=r&uid=4>; *',
    ],
  },
  {
    title: 'Past the end of a list, `prev` is its last page',
    reason: 'A Forgejo names the one before that.',
    records: { search: ['usersearch.paging[*page=*'] },
    lines: ['header link absent → "<*page=1>; rel=\\"first\\", <*page=1>; rel=\\"prev\\""'],
  },
  {
    title: '`Link` carries the parameters that the route reads, once each',
    reason:
      'A client could make the headers of the answer as long as it likes. A Forgejo carries all of them.',
    records: {
      'repository-lists': [
        'myrepos.sort',
        '*paging[per_page=1]',
        '*paging[foo=*',
        '*paging[limit=2&limit=3]',
      ],
      search: [
        'search.uid#8',
        'search.uid#9',
        '*paging[per_page=1]',
        'search.paging[foo=*',
        'usersearch.paging[foo=*',
        '*paging[limit=2&limit=3]',
      ],
    },
    lines: ['header link "*; rel=\\"next\\"* → "*; rel=\\"next\\"*'],
  },
  {
    title: 'A page beyond 2^63 is past the end',
    reason: 'A Forgejo overflows, and answers with the first page.',
    records: {
      'repository-lists': ['*paging[page=99999999999999999999]'],
      search: ['*paging[page=99999999999999999999]'],
    },
    lines: ['body.length * → 0'],
  },
]

/** The lists of `/user/repos` and `/users/{username}/repos`. */
const lists: readonly Difference[] = [
  {
    title: 'Repositories that are equal in what a list is ordered by are ordered by id',
    reason: 'So pages do not overlap. A Forgejo leaves the order to its database.',
    records: {
      'repository-lists': [
        'myrepos.order#4',
        'myrepos.order#6',
        'myrepos.order#12',
        'myrepos.order#13',
        'myrepos.order#15',
      ],
    },
    lines: ['body[].full_name "alice/*" → "alice/*"', 'body[].full_name "alice/*" → "acme/*"'],
  },
  {
    title: 'Repositories that are equal in what a list is ordered by are ordered by id',
    reason: 'So pages do not overlap. A Forgejo leaves the order to its database.',
    records: { search: ['search.sort#13', 'search.sort#14', 'search.sort#21', 'search.sort#22'] },
    lines: ['body.data[].full_name "acme/byadmin-orgrepo" → "acme/priv-orgrepo"'],
  },
  {
    title: 'An unknown `order_by` is 422',
    reason: 'The list would be in another order than asked for. A Forgejo orders by name.',
    records: {
      'repository-lists': ['myrepos.order#17', 'myrepos.order#18', 'myrepos.order#20', 'myrepos.order#21'],
    },
    lines: ['status 200 → 422'],
  },
  {
    title: '`/users/{username}/repos` takes `order_by` too',
    reason: 'As `/user/repos` does. A Forgejo ignores it there.',
    records: { 'repository-lists': ['usersrepos.order'] },
    lines: ['body[].full_name "alice/demo" → "alice/blank"'],
  },
  {
    title: 'Totals and counts are of what the viewer can list',
    reason: 'Hidden things are hidden from counts as well. A Forgejo counts what the list omits.',
    records: { 'repository-lists': ['usersrepos.alice.as.bob', 'usersrepos.acme.as.bob'] },
    lines: [
      'header x-total-count "3" → "2"',
      'header x-total-count "46" → "44"',
      'header link "<*page=10>; rel=\\"last\\"" → "<*page=9>; rel=\\"last\\""',
      'body.length 4 → 5',
    ],
  },
  {
    title: 'A private organization does not exist for others',
    reason:
      'Its existence is not told. A Forgejo answers 403 on its quota, and an empty list of repositories.',
    records: { 'repository-lists': ['usersrepos.secretorg.as.bob', 'usersrepos.secretorg.as.anonymous'] },
    lines: ['status 200 → 404'],
  },
  {
    title: 'Organizations have no email',
    reason: 'There is none to show. To anonymous clients a Forgejo shows one that it makes up.',
    records: { 'repository-lists': ['usersrepos.acme.as.anonymous'] },
    lines: ['body[].owner.email "acme@noreply.127.0.0.1" → ""'],
  },
]

/** `/repos/search` and `/users/search`. */
const found: readonly Difference[] = [
  {
    title: 'A failure of `/repos/search` has `ok` and `error`',
    reason:
      'The API document has SearchError for it. Below 500, `message` and `url` are sent as well, as on a Forgejo.',
    records: { search: ['search.bad.token', 'search.sort#*', 'search.mode*'] },
    lines: ['body adds ok', 'body adds error'],
  },
  {
    title: '`%` and `_` of a search stand for themselves',
    reason: 'A Forgejo passes them on to its database, where they stand for any characters.',
    records: { search: ['search.q.pct', 'search.q.underscore', 'usersearch.*[q=%25]'] },
    lines: [
      'header x-total-count * → "0"',
      'header x-total-count "114" → "3"',
      'header link * → absent',
      'body.data.length * → 0',
      'body.data.length 30 → 3',
      'body.data[].full_name "acme/*" → "acme/*"',
    ],
  },
  {
    title: '`uid` of `/repos/search` is the owner to search within',
    reason:
      "The API document says so. A Forgejo adds the repositories of the user's organizations unless `exclusive` is set.",
    records: { search: ['search.mode.uid', 'search.mode.uid#4'] },
    lines: [
      'header x-total-count "* → "3"',
      'header link "*; rel=\\"next\\"* → "*; rel=\\"next\\"*',
      'body.data[].full_name "acme/*" → "alice/*"',
    ],
  },
  {
    title: 'What `/repos/search` cannot do is 422: `includeDesc`, `topic`, `team_id`, `priority_owner_id`',
    reason: 'A parameter is never ignored: the result would be another than asked for.',
    records: { search: ['search.q.desc.include', 'search.priority'] },
    lines: ['status 200 → 422'],
  },
  {
    title: 'A flag of `/repos/search` that is neither true nor false is 422',
    reason: 'A parameter is never ignored: the result would be another than asked for.',
    records: { search: ['search.flag#9'] },
    lines: ['status 200 → 422'],
  },
  {
    title: 'Repositories are not marked as templates',
    reason: 'No repository can be made from one. `template` of a new repository is accepted and ignored.',
    records: { search: ['search.flag#7'] },
    lines: ['header x-total-count "2" → "0"', 'body.data.length 2 → 0'],
  },
  {
    title: '`/users/search` answers a bare array',
    reason: 'The API document has UserList. The dialect `forgejo` answers `{data,ok}`.',
    records: { search: ['usersearch.root1[q=*'] },
    lines: ['body {"data":[* → [*'],
  },
  {
    title: '`/users/search` lists by name',
    reason: 'The API document shows no parameters. A Forgejo takes `sort`.',
    records: { search: ['usersearch.*[sort=newest]'] },
    lines: [
      'body.data[].login "frank" → "alice"',
      'body.data[].email "frank@*" → "alice@*"',
      'body.data[].html_url "<host>/frank" → "<host>/alice"',
      'body.data[].active false → true',
      'body.data[].username "frank" → "alice"',
      'body.data[].full_name "" → "Bob Ünïcode"',
    ],
  },
  {
    title: 'Users are not found by their email',
    reason: 'An address is personal. A Forgejo finds those who do not hide theirs.',
    records: { search: ['usersearch.*[q=example]', 'usersearch.anonymous[q=alice@example.com]'] },
    lines: ['header x-total-count "*" → "0"', 'body.data.length * → 0', 'body {"data":[* → []'],
  },
  {
    title: 'There is no user with a negative id',
    reason: 'A Forgejo has a user Ghost, who stands for deleted ones.',
    records: { search: ['usersearch.*[uid=-1]'] },
    lines: ['header x-total-count "1" → "0"', 'body.data.length 1 → 0'],
  },
]

/** The lists of repositories, and the searches. */
export const searches: readonly Difference[] = [...paging, ...lists, ...found]
