import type { Difference } from './table.ts'

/** Differences of the lists of repositories and of searches. */
export const searches: readonly Difference[] = [
  {
    title: 'A failure of `/repos/search` has `ok` and `error`',
    reason:
      'The specification has SearchError for it. Below 500, `message` and `url` are sent as well, as on Forgejo.',
    records: {
      authentication: ['auth.matrix.*', 'scope.*GET /repos/search'],
      search: ['search.bad.token', 'search.sort#*', 'search.mode*'],
    },
    lines: ['body adds ok', 'body adds error'],
  },
  {
    title: '`/users/search` answers a bare array',
    reason: 'The specification has UserList. The dialect `forgejo` answers `{data,ok}`.',
    records: { 'quota-user': ['final.inactive.search'], search: ['usersearch.root1[q=*'] },
    lines: ['body {"data":[* → [*'],
  },
  {
    title: 'Repositories that are equal in what a list is ordered by are ordered by id',
    reason: 'So pages do not overlap. Forgejo leaves the order to its database.',
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
    also: [
      {
        records: { search: ['search.sort#13', 'search.sort#14', 'search.sort#21', 'search.sort#22'] },
        lines: ['body.data[].full_name "acme/byadmin-orgrepo" → "acme/priv-orgrepo"'],
      },
    ],
  },
  {
    title: 'An unknown `order_by` is 422',
    reason: 'The list would be in another order than the client expects. Forgejo orders by name.',
    records: {
      'repository-lists': ['myrepos.order#17', 'myrepos.order#18', 'myrepos.order#20', 'myrepos.order#21'],
    },
    lines: ['status 200 → 422'],
  },
  {
    title: '`/users/{username}/repos` takes `order_by` too',
    reason: 'As `/user/repos` does. Forgejo ignores it there.',
    records: { 'repository-lists': ['usersrepos.order'] },
    lines: ['body[].full_name "alice/demo" → "alice/blank"'],
  },
  {
    title: '`%` and `_` of a search stand for themselves',
    reason: 'Forgejo passes them on to its database, where they stand for any characters.',
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
      "The specification says so. Forgejo adds the repositories of the user's organizations unless `exclusive` is set.",
    records: { search: ['search.mode.uid', 'search.mode.uid#4'] },
    lines: [
      'header x-total-count "* → "3"',
      'header link "*; rel=\\"next\\"* → "*; rel=\\"next\\"*',
      'body.data[].full_name "acme/*" → "alice/*"',
    ],
  },
  {
    title: 'Parameters of `/repos/search` that are not supported are 422: `team_id`, `priority_owner_id`',
    reason:
      'A parameter is never ignored: the result would be another than the client expects. `/teams/{id}/repos` lists the repositories of a team.',
    records: { search: ['search.priority'] },
    lines: ['status 200 → 422'],
  },
  {
    title: 'A flag of `/repos/search` that is neither true nor false is 422',
    reason: 'A parameter is never ignored: the result would be another than the client expects.',
    records: { search: ['search.flag#9'] },
    lines: ['status 200 → 422'],
  },
  {
    title: '`/users/search` lists by name',
    reason: 'The specification shows no parameters. Forgejo takes `sort`.',
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
    reason: 'An address is personal. Forgejo finds users who do not hide theirs.',
    records: { search: ['usersearch.*[q=example]', 'usersearch.anonymous[q=alice@example.com]'] },
    lines: ['header x-total-count "*" → "0"', 'body.data.length * → 0', 'body {"data":[* → []'],
  },
  {
    title: 'There is no user with a negative id',
    reason: 'Forgejo has a user Ghost, who stands for deleted users.',
    records: { search: ['usersearch.*[uid=-1]'] },
    lines: ['header x-total-count "1" → "0"', 'body.data.length 1 → 0'],
  },
]
