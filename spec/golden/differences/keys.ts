import { inAll } from './shapes.ts'
import type { Difference } from './table.ts'

/** Differences of SSH and GPG keys. */
export const keys: readonly Difference[] = [
  {
    title: 'Another content type than the operation takes is 415',
    reason: '415 is the status for that. Forgejo answers 422, or reads a form.',
    records: { 'ssh-keys': ['ssh.body.textplain', 'ssh.body.form'], 'gpg-keys': ['gpg.body.textplain'] },
    lines: ['status 422 → 415'],
  },
  {
    title: 'SSH keys lack `updated_at` and `verified`',
    reason: 'A member is never invented: Allot does not record when a key is used, and verifies no key.',
    records: inAll('ssh-keys'),
    lines: ['body* lacks updated_at', 'body* lacks verified'],
  },
  {
    title: '`read_only` and `key_type` of an SSH key are always sent',
    reason: 'Members are always present. Forgejo leaves out what is false, and the type for other viewers.',
    records: inAll('ssh-keys'),
    lines: ['body* adds read_only', 'body* adds key_type'],
  },
  {
    title: 'RSA keys of SSH need 2048 bits',
    reason: 'ssh-keygen made keys of this size by default until 2019. Forgejo wants 3071.',
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
      'The list of a user shows them, as far as the user may be seen. Forgejo shows any key to everyone.',
    records: { 'ssh-keys': ['ssh.get#2', 'ssh.get#3'] },
    lines: ['status 200 → 404'],
  },
  {
    title: "DELETE of another user's key is 403, for administrators too",
    reason: 'The specification says so. Forgejo lets administrators delete any SSH key.',
    records: { 'ssh-keys': ['ssh.del.admin'] },
    lines: ['status 204 → 403'],
  },
  {
    title: 'Several SSH or GPG keys in one text are 422',
    reason:
      'They are added one at a time. Forgejo adds the first, and makes the second line a part of its comment.',
    records: { 'ssh-keys': ['ssh.bad.twolines'] },
    lines: ['status 201 → 422'],
  },
  {
    title: 'A GPG key says whether it is `revoked` or `expired`, and then it can do nothing',
    reason: 'A client could take such a key for one that signs. Forgejo says nothing about it.',
    records: inAll('gpg-keys'),
    lines: ['body* adds revoked', 'body* adds expired'],
  },
  {
    title: 'A GPG key that never expires has `expires_at: null`',
    reason: 'A timestamp without a value is null. Forgejo sends the year 1.',
    records: inAll('gpg-keys'),
    lines: ['body*.expires_at "0001-01-01T00:00:00Z" → null'],
  },
  {
    title: 'Lists are `[]` and not `null`',
    reason: 'Every route answers so.',
    records: inAll('gpg-keys'),
    lines: ['body*.subkeys[].emails null → []', 'body*.subkeys[].subkeys null → []'],
  },
  {
    title: 'The capabilities of a GPG key are those of its key flags',
    reason: 'Forgejo reports what the algorithm could do, whatever the key flags (RFC 9580 §5.2.3.29) say.',
    records: inAll('gpg-keys'),
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
      "Allot does not verify that a key belongs to its user; `verified` of an email says whether it is the user's own.",
    records: inAll('gpg-keys'),
    lines: ['body* lacks verified'],
    also: [
      {
        records: { 'gpg-keys': ['gpg.token', 'gpg.add.signed', 'gpg.add.nomail.signed'] },
        lines: ['status 200 → 404', 'status 201 → 422'],
      },
    ],
  },
  {
    title: 'A GPG key with foreign emails is accepted, and all of its emails are shown',
    reason:
      "An email that is not the user's own is not `verified`. Forgejo answers 404, and leaves the email out.",
    records: { 'gpg-keys': ['gpg.add.mallory', 'gpg.add.nomail'] },
    lines: ['status 404 → 201'],
    also: [
      {
        records: { 'gpg-keys': ['gpg.add.multiuid'] },
        lines: ['body.emails[].email "*" → "alice2@example.com"', 'body.emails[].verified true → false'],
      },
    ],
  },
  {
    title: 'A private GPG key is refused',
    reason: 'It must be kept secret. Forgejo keeps its public part.',
    records: { 'gpg-keys': ['gpg.add.secretalice'] },
    lines: ['status 201 → 422'],
  },
  {
    title: 'A GPG block without packets is 422',
    reason: 'Forgejo fails with 500.',
    records: { 'gpg-keys': ['gpg.add.bad.headeronly'] },
    lines: ['status 500 → 422'],
  },
  {
    title: "DELETE of another user's GPG key is 403, and of a missing one 404",
    reason: 'The specification says so. Forgejo answers 204 and deletes nothing.',
    records: { 'gpg-keys': ['gpg.del.other', 'gpg.del.admin', 'gpg.del.id[*'] },
    lines: ['status 204 → 403', 'status 204 → 404'],
  },
]
