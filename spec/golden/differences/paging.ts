import { inAll } from './shapes.ts'
import type { Difference } from './table.ts'

/** Differences of paged lists. */
/** Pages that are no whole numbers, as far as each family has them. */
const INVALID = ['*paging[page=abc]', '*paging[page=1.5]', '*paging[limit=]', '*paging[*=-*']

export const paging: readonly Difference[] = [
  {
    title: 'Every list is paged: `limit` without `page` counts, and `Link` is sent',
    reason:
      'Paging works the same way everywhere. On many lists Forgejo ignores `limit` alone, and sends no `Link`.',
    records: inAll(
      'authentication',
      'following',
      'quota-groups',
      'quota-rules',
      'starred',
      'subscriptions',
      'tokens',
    ),
    lines: ['header link absent → "*'],
    also: [
      {
        records: {
          authentication: ['scope.*/user/subscriptions', 'scope.*/users/alice/tokens'],
          following: ['*paging[limit=1]', '*paging[foo=*'],
          'quota-groups': ['groups.list.paging', 'groups.user.list.paging'],
          'quota-rules': ['rules.list*'],
          starred: ['*paging[*', 'starred.sort', 'starred.order_by'],
          subscriptions: ['*paging[*', 'subs.mine'],
          tokens: ['*paging[*', 'tokens.list.*'],
        },
        lines: ['body.length * → *'],
      },
      { records: { 'quota-rules': ['rules.list.paging'] }, lines: ['body[].*'] },
      {
        records: {
          'ssh-keys': ['*paging[*', 'ssh.users.of.ALICE'],
          'gpg-keys': ['*paging[*', 'gpg.list.upper'],
        },
        lines: ['header link absent → *', 'body.length * → *'],
      },
    ],
  },
  {
    title: 'A page beyond 2^63 is past the end',
    reason: 'Forgejo overflows and answers with the first page.',
    records: {
      following: ['*paging[page=99999999999999999999]'],
      'quota-user': ['*paging[page=99999999999999999999]'],
      starred: ['*paging[page=99999999999999999999]'],
      subscriptions: ['*paging[page=99999999999999999999]'],
      tokens: ['*paging[page=99999999999999999999]'],
      'ssh-keys': ['*paging[page=99999999999999999999]'],
      'gpg-keys': ['*paging[page=99999999999999999999]'],
      'repository-lists': ['*paging[page=99999999999999999999]'],
      search: ['*paging[page=99999999999999999999]'],
    },
    lines: ['body.length * → 0'],
  },
  {
    title: 'Past the end of a list, `prev` is its last page',
    reason: 'Forgejo names the page before that.',
    records: { 'quota-user': ['*paging[page=999*', '*paging[limit=3&page=9223372036854775807]'] },
    lines: [
      'header link "<*page=1>; rel=\\"first\\", <*rel=\\"prev\\"" → "<*page=1>; rel=\\"first\\", <*rel=\\"prev\\""',
    ],
    also: [
      {
        records: {
          'repository-lists': [
            '*paging[page=99999999999999999999]',
            '*paging[limit=3&page=9223372036854775807]',
          ],
          search: ['*paging[page=999*', '*paging[limit=3&page=9223372036854775807]'],
        },
        lines: [
          'header link "<*page=1*>; rel=\\"first\\", <* → "<*page=1*>; rel=\\"first\\", <*; rel=\\"prev\\""',
        ],
      },
      {
        records: { search: ['search.paging[limit=3&page=9223372036854775807]'] },
        lines: [
          'header link "<*page=1*>; rel=\\"first\\", <*page=20&q=r&uid=4>; * → "<*page=1*>; *, <*page=21&q=r&uid=4>; *',
        ],
      },
      {
        records: { search: ['usersearch.paging[*page=*'] },
        lines: ['header link absent → "<*page=1>; rel=\\"first\\", <*page=1>; rel=\\"prev\\""'],
      },
    ],
  },
  {
    title: '`Link` carries the parameters that the route reads, once each',
    reason:
      'A client could make the headers of the response as long as it likes. Forgejo repeats every parameter.',
    records: { 'quota-user': ['*paging[per_page=1]', '*paging[foo=*', '*paging[limit=2&limit=3]'] },
    lines: ['header link "* → "*'],
    also: [
      {
        records: {
          'repository-lists': [
            'myrepos.sort',
            '*paging[per_page=1]',
            '*paging[foo=*',
            '*paging[limit=2&limit=3]',
          ],
          search: [
            'search.uid#9',
            '*paging[per_page=1]',
            'search.paging[foo=*',
            'usersearch.paging[foo=*',
            '*paging[limit=2&limit=3]',
          ],
        },
        lines: ['header link "*; rel=\\"next\\"* → "*; rel=\\"next\\"*'],
      },
    ],
  },
  {
    title: 'Rules, groups and members of a group are counted in `X-Total-Count`',
    reason: 'Every list is paged.',
    records: inAll('authentication', 'quota-evaluation', 'quota-groups', 'quota-rules'),
    lines: ['header x-total-count absent → "*"'],
  },
  {
    title: 'An invalid `page`, `limit` or `uid` is 422',
    reason:
      'The specification has them as integers, and a parameter is never ignored. Forgejo takes the default.',
    records: {
      'quota-user': [...INVALID, '*paging[page=]', '*paging[limit=abc]'],
      'repository-lists': [...INVALID, '*paging[page=]'],
      tokens: [...INVALID, '*paging[limit=abc]'],
      search: [...INVALID, '*paging[page=]', '*paging[limit=abc]', 'search.uid#8', '*[uid=abc]'],
      ...Object.fromEntries(
        ['following', 'gpg-keys', 'ssh-keys', 'starred', 'subscriptions'].map((family) => [
          family,
          [...INVALID, '*paging[page=]', '*paging[limit=abc]'],
        ]),
      ),
    },
    lines: ['status 200 → 422'],
  },
]
