import { EMAIL_IS_HIDDEN, inAll, USER_COUNTS, USER_LACKS } from './shapes.ts'
import type { Difference } from './table.ts'

/** The recordings that have users in their answers. */
const WITH_USERS = inAll(
  ...['authentication', 'following', 'paging', 'quota-groups', 'quota-evaluation', 'quota-user', 'setup'],
  ...['starred', 'subscriptions', 'users', 'ssh-keys', 'repositories', 'repository-lists', 'search'],
)

/** Differences of users, organizations and tokens. */
export const accounts: readonly Difference[] = [
  {
    title: 'Users lack what Allot does not keep',
    reason:
      'A member is never invented: Allot has no login sources, languages, pronouns or restricted accounts.',
    records: WITH_USERS,
    lines: USER_LACKS,
  },
  {
    title: 'Counts of followers, followed users and stars are sent with a profile only',
    reason: 'A list of 50 users would need 150 more counts.',
    records: WITH_USERS,
    lines: USER_COUNTS,
  },
  {
    title: "A user's email is shown to the user and to administrators only",
    reason: 'An address is personal. Forgejo shows it to every signed-in user.',
    records: inAll(
      'following',
      'quota-user',
      'starred',
      'subscriptions',
      'users',
      'repository-lists',
      'search',
    ),
    lines: EMAIL_IS_HIDDEN,
  },
  {
    title: 'A private user does not exist for other users',
    reason: 'Forgejo hides the profile, but lets others follow it and read its lists.',
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
      'body names ["bob","dave",*] → ["bob",*]',
    ],
    also: [
      {
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
        records: { 'ssh-keys': ['ssh.users.of.dave'], 'gpg-keys': ['gpg.list.private'] },
        lines: ['status 200 → 404'],
      },
    ],
  },
  {
    title:
      'Totals and counts include only what the viewer can list, with [exceptions](../SECURITY.md#hidden-things)',
    reason: 'Hidden things are hidden from counts as well. Forgejo counts what the list omits.',
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
    also: [
      {
        records: { authentication: ['scope.*GET /user', 'scope.*GET /users/alice'] },
        lines: ['body.followers_count 3 → 2', 'body.following_count 3 → 2'],
      },
      {
        records: { subscriptions: ['subs.alice.as.bob'] },
        lines: ['header x-total-count "47" → "46"', 'body.length 47 → 46'],
      },
      {
        records: { 'repository-lists': ['usersrepos.alice.as.bob', 'usersrepos.acme.as.bob'] },
        lines: [
          'header x-total-count "3" → "2"',
          'header x-total-count "46" → "44"',
          'header link "<*page=10>; rel=\\"last\\"" → "<*page=9>; rel=\\"last\\""',
          'body.length 4 → 5',
        ],
      },
    ],
  },
  {
    title: 'Tokens are created with a password, or with a token that has the same scopes',
    reason: 'A host that signs its users in itself has no passwords. Forgejo takes a password only.',
    records: { tokens: ['tokens.withtoken', 'tokens.basic.tokenpw'] },
    lines: ['status 401 → 201'],
  },
  {
    title: 'Tokens cannot be limited to repositories, or to public ones',
    reason: 'Allot has no such limit: the scope `public-only` is 400, as every unknown scope.',
    records: inAll('authentication', 'tokens'),
    lines: ['body* lacks repositories'],
    also: [
      {
        records: { tokens: ['tokens.create.public', 'tokens.del.admin'] },
        lines: ['status 201 → 400', 'status 204 → 404'],
      },
    ],
  },
  {
    title: 'Tokens say when they were last used',
    reason: '`last_used_at` tells which tokens can be revoked. Gitea has the member, Forgejo does not.',
    records: inAll('authentication', 'tokens'),
    lines: ['body* adds last_used_at'],
  },
  {
    title: 'Organizations have no tokens',
    reason: 'An organization does not sign in. Forgejo lets administrators make tokens of one.',
    records: { tokens: ['tokens.org', 'tokens.list.org'] },
    lines: ['status 201 → 404', 'status 403 → 404'],
  },
  {
    title: 'Tokens are listed in the order of their creation',
    reason: 'Forgejo lists the one that was used last first.',
    records: { tokens: ['tokens.list.*', 'tokens.paging[*'] },
    lines: ['body names [* → [*', 'body[].name "* → "*"', 'body[].scopes*'],
    also: [
      {
        records: { authentication: ['scope.wuser.GET /users/alice/tokens'] },
        lines: ['body[].name "byadmin" → "main"'],
      },
    ],
  },
  {
    title: 'A token without a scope for repositories does not list private ones',
    reason:
      'The scopes of a token bound everything that it does. Forgejo lists watched repositories with `read:user`.',
    records: { authentication: ['scope.wuser.GET /user/subscriptions'] },
    lines: ['header x-total-count "50" → "46"'],
  },
  {
    title: 'Organizations lack `created` and `repo_admin_change_team_access`',
    reason:
      'Only owners of an organization give its repositories to teams, so there is no such setting. The profile of an organization, `GET /users/{org}`, has `created`.',
    records: inAll('setup'),
    lines: ['body lacks created', 'body lacks repo_admin_change_team_access'],
  },
  {
    title: 'Public profiles can be read by everyone, with their lists',
    reason: 'The specification lists no login for them. Forgejo answers 401.',
    records: { users: ['users.followers#4', 'users.following#4', 'users.following.*#4'] },
    lines: ['status 401 → 200', 'status 401 → 204', 'status 401 → 404'],
    also: [
      {
        records: {
          authentication: ['auth.matrix.anon#2'],
          'ssh-keys': ['ssh.users#4'],
          'gpg-keys': ['gpg.list.anon.of.alice'],
        },
        lines: ['status 401 → 200'],
      },
    ],
  },
  {
    title: 'A private organization does not exist for other users',
    reason:
      'Its existence is not revealed. Forgejo answers 403 on its quota, and an empty list of repositories.',
    records: { 'quota-user': ['orgquota.read.secretorg#2', 'orgquota.read.secretorg#5'] },
    lines: ['status 403 → 404'],
    also: [
      {
        records: { 'repository-lists': ['usersrepos.secretorg.as.bob', 'usersrepos.secretorg.as.anonymous'] },
        lines: ['status 200 → 404'],
      },
    ],
  },
  {
    title: 'Authors are shown as the viewer may see them',
    reason: 'Forgejo shows the author of a comment or release as others see it, to the author as well.',
    records: { 'quota-user': ['usage.release', 'usage.release.acme', 'usage.comment'] },
    lines: ['body.*.email "alice@noreply.127.0.0.1" → "alice@example.com"', 'body.*.active false → true'],
  },
  {
    title: 'A locked account is not active, and is 403 however it signs in',
    reason:
      'There is one switch: `prohibit_login: true` and `active: false` are the same. With Basic Forgejo answers 401.',
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
    title: 'Organizations have no email',
    reason: 'There is no email to show. To anonymous clients Forgejo shows one that it makes up.',
    records: { 'repository-lists': ['usersrepos.acme.as.anonymous'] },
    lines: ['body[].owner.email "acme@noreply.127.0.0.1" → ""'],
  },
]
