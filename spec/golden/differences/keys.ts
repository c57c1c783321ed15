import { ALLOWS_MORE, NOT_FOUND_IS_EMPTY, USER_COUNTS, USER_LACKS } from './shapes.ts'
import type { Difference } from './table.ts'

const SSH = ['*']
const GPG = ['*']
const PAGED = ['*paging[*']

/** What is the same for every route. */
const general: readonly Difference[] = [
  {
    title: '404 has an empty body',
    reason: 'The API document says so. The dialect `forgejo` sends `{message,url}`.',
    records: { 'ssh-keys': SSH, 'gpg-keys': GPG },
    lines: NOT_FOUND_IS_EMPTY,
  },
  {
    title: 'HEAD is answered where GET is, and OPTIONS everywhere',
    reason: 'RFC 9110 §9.1 requires HEAD; a Forgejo answers both with 405.',
    records: { 'ssh-keys': ['*.method.OPTIONS'], 'gpg-keys': ['*.method.HEAD', '*.method.OPTIONS'] },
    lines: ['status 405 → 20*'],
  },
  {
    title: '`Allow` names HEAD and OPTIONS as well',
    reason: 'They are answered.',
    records: { 'ssh-keys': ['*.method.*', 'ssh.del.id[]'], 'gpg-keys': ['*.method.*'] },
    lines: ALLOWS_MORE,
  },
  {
    title: 'Another content type than the operation takes is 415',
    reason: '415 is the status for that. A Forgejo answers 422, or reads a form.',
    records: { 'ssh-keys': ['ssh.body.textplain', 'ssh.body.form'], 'gpg-keys': ['gpg.body.textplain'] },
    lines: ['status 422 → 415'],
  },
  {
    title: 'Users lack what Allot does not keep',
    reason:
      'A member is never invented: Allot has no login sources, languages, pronouns or restricted accounts.',
    records: { 'ssh-keys': SSH },
    lines: USER_LACKS,
  },
  {
    title: 'Counts of followers, followed users and stars are sent with a profile only',
    reason: 'A list of 50 users would need 150 more counts.',
    records: { 'ssh-keys': SSH },
    lines: USER_COUNTS,
  },
  {
    title: 'Public profiles can be read by everyone, with their lists',
    reason: 'The API document lists no login for them. A Forgejo answers 401.',
    records: { 'ssh-keys': ['ssh.users#4'], 'gpg-keys': ['gpg.list.anon.of.alice'] },
    lines: ['status 401 → 200'],
  },
  {
    title: 'A private user does not exist for others',
    reason: 'A Forgejo hides the profile, but lets others follow it and read its lists.',
    records: { 'ssh-keys': ['ssh.users.of.dave'], 'gpg-keys': ['gpg.list.private'] },
    lines: ['status 200 → 404'],
  },
  {
    title: 'Every list is paged: `limit` without `page` counts, and `Link` is sent',
    reason:
      'Paging works the same way everywhere. On many lists a Forgejo ignores `limit` alone, and sends no `Link`.',
    records: {
      'ssh-keys': [...PAGED, 'ssh.users.of.ALICE'],
      'gpg-keys': [...PAGED, 'gpg.list.upper'],
    },
    lines: ['header link absent → *', 'body.length * → *'],
  },
  {
    title: 'A page beyond 2^63 is past the end',
    reason: 'A Forgejo overflows, and answers with the first page.',
    records: {
      'ssh-keys': ['*paging[page=99999999999999999999]'],
      'gpg-keys': ['*paging[page=99999999999999999999]'],
    },
    lines: ['body.length * → 0'],
  },
]

const sshKeys: readonly Difference[] = [
  {
    title: 'SSH keys lack `updated_at` and `verified`',
    reason: 'A member is never invented: Allot does not record when a key is used, and verifies no key.',
    records: { 'ssh-keys': SSH },
    lines: ['body* lacks updated_at', 'body* lacks verified'],
  },
  {
    title: '`read_only` and `key_type` of an SSH key are always sent',
    reason: 'Members are always present. A Forgejo leaves out what is false, and the type for other viewers.',
    records: { 'ssh-keys': SSH },
    lines: ['body* adds read_only', 'body* adds key_type'],
  },
  {
    title: 'RSA keys of SSH need 2048 bits',
    reason: 'ssh-keygen made keys of this size by default until 2019. A Forgejo wants 3071.',
    records: { 'ssh-keys': ['ssh.add.rsa2048'] },
    lines: ['status 422 → 201'],
  },
  {
    title: 'A title of an SSH key has at most 255 characters',
    reason: 'Every name and title is bounded.',
    records: { 'ssh-keys': ['ssh.title.long'] },
    lines: ['status 201 → 422'],
  },
  {
    title: 'Several spaces may separate the parts of an SSH key',
    reason: 'OpenSSH reads such a line.',
    records: { 'ssh-keys': ['ssh.form.twospaces'] },
    lines: ['status 422 → 201'],
  },
  {
    title: "Another user's SSH key cannot be read by its id",
    reason:
      'The list of a user shows them, as far as the user may be seen. A Forgejo shows any key to everyone.',
    records: { 'ssh-keys': ['ssh.get#2', 'ssh.get#3'] },
    lines: ['status 200 → 404'],
  },
  {
    title: "DELETE of another user's key is 403, for administrators too",
    reason: 'The document says so. A Forgejo lets administrators delete any SSH key.',
    records: { 'ssh-keys': ['ssh.del.admin'] },
    lines: ['status 204 → 403'],
  },
]

const gpgKeys: readonly Difference[] = [
  {
    title: 'A GPG key that never expires has `expires_at: null`',
    reason: 'A timestamp without a value is null. A Forgejo sends the year 1.',
    records: { 'gpg-keys': GPG },
    lines: ['body*.expires_at "0001-01-01T00:00:00Z" → null'],
  },
  {
    title: 'Lists are `[]` and not `null`',
    reason: 'It is so for every route.',
    records: { 'gpg-keys': GPG },
    lines: ['body*.subkeys[].emails null → []', 'body*.subkeys[].subkeys null → []'],
  },
  {
    title: 'A GPG key can do what it says that it is for',
    reason: 'A Forgejo says what its algorithm could do, whatever the key flags (RFC 9580 §5.2.3.29) say.',
    records: { 'gpg-keys': GPG },
    lines: [
      'body*.can_sign true → false',
      'body*.can_certify true → false',
      'body*.can_encrypt_comms true → false',
      'body*.can_encrypt_storage true → false',
    ],
  },
  {
    title: 'GPG keys lack `verified`, and no signature of a token is taken',
    reason:
      'Allot does not verify that a key belongs to its user; the emails of the key say which one is the own.',
    records: { 'gpg-keys': GPG },
    lines: ['body* lacks verified'],
  },
  {
    title: 'GPG keys lack `verified`, and no signature of a token is taken',
    reason:
      'Allot does not verify that a key belongs to its user; the emails of the key say which one is the own.',
    records: { 'gpg-keys': ['gpg.token', 'gpg.add.signed', 'gpg.add.nomail.signed'] },
    lines: ['status 200 → 404', 'status 201 → 422'],
  },
  {
    title: 'A GPG key with foreign emails is accepted, and all of its emails are shown',
    reason: 'An email that is not the own is not `verified`. A Forgejo answers 404, and leaves it out.',
    records: { 'gpg-keys': ['gpg.add.mallory', 'gpg.add.nomail'] },
    lines: ['status 404 → 201'],
  },
  {
    title: 'A GPG key with foreign emails is accepted, and all of its emails are shown',
    reason: 'An email that is not the own is not `verified`. A Forgejo answers 404, and leaves it out.',
    records: { 'gpg-keys': ['gpg.add.multiuid'] },
    lines: ['body.emails[].email "*" → "alice2@example.com"', 'body.emails[].verified true → false'],
  },
  {
    title: 'A private GPG key is refused',
    reason: 'It must be kept secret. A Forgejo keeps its public part.',
    records: { 'gpg-keys': ['gpg.add.secretalice'] },
    lines: ['status 201 → 422'],
  },
  {
    title: 'A GPG block without packets is 422',
    reason: 'A Forgejo fails with 500.',
    records: { 'gpg-keys': ['gpg.add.bad.headeronly'] },
    lines: ['status 500 → 422'],
  },
  {
    title: "DELETE of another user's GPG key is 403, and of a missing one 404",
    reason: 'The document says so. A Forgejo answers 204 and deletes nothing.',
    records: { 'gpg-keys': ['gpg.del.other', 'gpg.del.admin', 'gpg.del.id[*'] },
    lines: ['status 204 → 403', 'status 204 → 404'],
  },
]

export const keys: readonly Difference[] = [...general, ...sshKeys, ...gpgKeys]
