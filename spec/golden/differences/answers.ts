import {
  ALLOWS_MORE,
  EMAIL_IS_HIDDEN,
  NOT_FOUND_IS_EMPTY,
  REPOSITORY_LACKS,
  SSH_URL,
  USER_COUNTS,
  USER_LACKS,
} from './shapes.ts'
import type { Difference } from './table.ts'

/** What is the same for every route, and the differences of accounts, follows, stars, watches, tokens and quota. */
export const answers: readonly Difference[] = [
  {
    title: '404 has an empty body',
    reason: 'The document says so. The dialect `forgejo` sends `{message,url}`.',
    records: { following: ['*'], users: ['*'] },
    lines: NOT_FOUND_IS_EMPTY,
  },
  {
    title: '404 of an unknown path has an empty body',
    reason: 'The document says so; a Forgejo answers in plain text.',
    records: { users: ['users.none'] },
    lines: ['header content-type "text/plain; charset=utf-8" → absent', 'body "404 page not found\\n" → ""'],
  },
  {
    title: 'HEAD is answered where GET is, and OPTIONS everywhere',
    reason: 'RFC 9110 §9.1 requires HEAD; a Forgejo answers both with 405.',
    records: {
      following: ['follow.method.HEAD', 'follow.method.OPTIONS'],
      users: ['*.method.HEAD', '*.method.OPTIONS'],
    },
    lines: ['status 405 → 20*'],
  },
  {
    title: '`Allow` names HEAD and OPTIONS as well',
    reason: 'They are answered.',
    records: { following: ['*.method.*'], users: ['*.method.*'] },
    lines: ALLOWS_MORE,
  },
  {
    title: 'Users lack what Allot does not keep',
    reason:
      'A member is never invented: Allot has no login sources, languages, pronouns or restricted accounts.',
    records: { following: ['*'], users: ['*'] },
    lines: USER_LACKS,
  },
  {
    title: 'Counts of followers, followed users and stars are sent with a profile only',
    reason: 'A list of 50 users would need 150 more counts.',
    records: { following: ['*'], users: ['*'] },
    lines: USER_COUNTS,
  },
  {
    title: "A user's email is shown to the user and to administrators only",
    reason: 'CONTRACT, "Who may do what". A Forgejo shows it to every signed-in user.',
    records: { following: ['*'], users: ['*'] },
    lines: EMAIL_IS_HIDDEN,
  },
  {
    title: 'A private user does not exist for others',
    reason: 'A Forgejo hides the profile, but lets others follow it and read its lists.',
    records: {
      following: [
        'follow.private.PUT',
        'follow.private.DELETE',
        'follow.private.put2',
        'followers.me',
        'following.me',
        'followers.paging[*',
        'following.paging[*',
      ],
    },
    lines: [
      'status 204 → 404',
      'header x-total-count "3" → "2"',
      'header x-total-count "4" → "3"',
      'body.length * → *',
      'body[].* "*" → "*"',
      'body names ["bob","dave",*] → *',
    ],
  },
  {
    title: 'A private user does not exist for others',
    reason: 'A Forgejo hides the profile, but lets others follow it and read its lists.',
    records: {
      users: ['users.followers.of.dave', 'users.following.of.dave', 'users.followers', 'users.following'],
    },
    lines: [
      'status 200 → 404',
      'header x-total-count "3" → "2"',
      'header x-total-count "4" → "3"',
      'body.length * → *',
      'body[].* "*" → "*"',
    ],
  },
  {
    title: 'Totals and counts are of what the viewer can list',
    reason: 'CONTRACT, "A private repository does not exist". A Forgejo counts what the list omits.',
    records: {
      users: [
        'users.starred',
        'users.starred.of.BOB',
        'users.bob.as.*',
        'users.alice.as.*',
        'users.ALICE.as.*',
        'users.%61lice.as.*',
      ],
    },
    lines: [
      'header x-total-count "2" → "1"',
      'body.starred_repos_count 2 → 1',
      'body.followers_count 3 → 2',
      'body.following_count 3 → 2',
      'body.following_count 3 → 1',
    ],
  },
  {
    title: 'Repositories lack what Allot does not keep',
    reason:
      'A member is never invented: Allot has no pull requests, wikis, projects, actions, topics or mirrors.',
    records: { users: ['users.starred*'] },
    lines: REPOSITORY_LACKS,
  },
  {
    title: '`ssh_url` has the short form of scp',
    reason: 'Both are understood by git; the short form is the default of Gitea and Forgejo on port 22.',
    records: { users: ['users.starred*'] },
    lines: SSH_URL,
  },
  {
    title: '`permissions` are those of the viewer',
    reason: "In a user's starred list a Forgejo sends those of that user.",
    records: { users: ['users.starred', 'users.starred.of.BOB'] },
    lines: ['body[].permissions.admin true → false', 'body[].permissions.push true → false'],
  },
  {
    title: 'The owner of a repository is shown as the viewer may see it',
    reason: 'A Forgejo shows the owner as others see it, to the owner as well.',
    records: { users: ['users.starred#2'] },
    lines: [
      'body[].owner.email "bob@noreply.127.0.0.1" → "bob@example.com"',
      'body[].owner.active false → true',
    ],
  },
  {
    title: 'Every list is paged: `limit` without `page` counts, and `Link` is sent',
    reason: 'CONTRACT, "Answers". On many lists a Forgejo ignores `limit` alone, and sends no `Link`.',
    records: { following: ['*paging[*'] },
    lines: ['header link absent → *', 'body names * → *', 'body.length 2 → 1'],
  },
  {
    title: 'A page beyond 2^63 is past the end',
    reason: 'A Forgejo overflows, and answers with the first page.',
    records: { following: ['*paging[page=99999999999999999999]'] },
    lines: ['body.length 2 → 0', 'body names * → []'],
  },
  {
    title: 'Public profiles can be read by everyone, with their lists',
    reason: 'The document lists no login for them. A Forgejo answers 401.',
    records: { users: ['users.followers#4', 'users.following#4', 'users.following.*#4'] },
    lines: ['status 401 → 200', 'status 401 → 204', 'status 401 → 404'],
  },
  {
    title: '`:username` and `:target` in a path mean the caller',
    reason: 'The document lists two paths with a literal colon segment.',
    records: { users: ['users.literalcolon.followers'] },
    lines: ['status 404 → 200'],
  },
]
