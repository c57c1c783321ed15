import fc from 'fast-check'
import { subjects } from '../../lib/quota/subjects.ts'
import { SCOPES } from '../../lib/scopes.ts'

/** Any text; a few occur often, so that records share index entries and counts. */
export const text = fc.oneof(
  fc.constantFrom('a', 'A', 'b', '', '\u0000', '\n', '"\\', '\u2028', 'ß', '🦉'),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
)

const filled = text.filter((one) => one !== '')
const plain = filled.filter((one) => !/\p{Cc}/u.test(one))
const hex = (length: number) =>
  fc.oneof(
    fc.constantFrom('a'.repeat(length), 'b'.repeat(length)),
    fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)),
  )
const upperHex = (length: number) => hex(length).map((one) => one.toUpperCase())
const name = fc.constantFrom('a', 'A', 'b', 'c.d', 'e-f', 'x_y')
const uuid = fc.uuid()

/**
 * By `collection.member`, or by the collection for whole records: valid texts, where the API restricts them.
 */
export const API_TEXTS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  'account.name': name,
  'account.email': fc.constantFrom('', 'a@x.test', 'A@x.test', 'ß@x.test'),
  'account.password': fc.constantFrom(null, 'scrypt$16384$8$1$AAAA$BBBB'),
  'account.host': fc.record({ id: fc.uuid() }),
  'account.passwordLink': fc.record({ hash: hex(64), expiresAt: fc.nat() }),
  'audit.nonce': hex(16),
  'audit.actorName': name,
  'audit.subject': filled,
  'audit.before': fc.constantFrom('', '{"limit":1}'),
  'audit.after': fc.constantFrom('', '{"limit":2}'),
  'team.name': fc.constantFrom('devs', 'Ops 2', 'a.b-c'),
  'team.description': plain,
  'token.name': plain,
  'token.hash': hex(64),
  'token.lastEight': hex(8),
  'token.scopes': fc.subarray([...SCOPES], { minLength: 1, maxLength: 3 }),
  'hook.scopes': fc.subarray([...SCOPES], { minLength: 1, maxLength: 3 }),
  'session.hash': hex(64),
  'session.password': fc.option(hex(64)),
  'session.browser': fc.constantFrom('Firefox on Linux', 'curl'),
  'session.address': fc.constantFrom('203.0.113.7', '2001:db8:1:2::/64'),
  'repository.name': name,
  'repository.topics': fc.constantFrom([], ['a'], ['a', 'b-c.d']),
  'repository.defaultBranch': fc.constantFrom('main', 'a/b', 'ß'),
  'pushJournal.push.updates': fc.array(
    fc.record({ ref: filled, before: fc.option(hex(40)), after: fc.option(hex(40)) }),
    { maxLength: 2 },
  ),
  'redirect.name': name,
  'formerName.name': fc.constantFrom('a', 'b', 'c.d'),
  'file.name': uuid,
  'file.sha256': hex(64),
  'sshKey.fingerprint': hex(43).map((one) => `SHA256:${one}`),
  'gpgKey.keyId': upperHex(16),
  'gpgKey.fingerprint': upperHex(40),
  'gpgKey.subkeys': fc.constant([]),
  'rule.name': plain,
  'rule.created.nonce': hex(16),
  'rule.subjects': fc.subarray([...subjects], { maxLength: 3 }),
  'group.name': plain,
  'group.created.nonce': hex(16),
  'group.rules': fc.array(plain, { maxLength: 3 }),
  'removedGroup.name': plain,
  'assignment.group': plain,
  'quotaOwner.name': plain,
  'ledger.key': plain,
  'ledger.name': filled,
  'ledger.type': fc.option(filled),
  'ledger.version': fc.option(filled),
  'issue.title': filled,
  'issueEvent.oldTitle': filled,
  'issueEvent.newTitle': filled,
  'commitStatus.sha': hex(40),
  'commitStatus.context': filled,
  'commitStatus.targetUrl': fc.constantFrom('', 'https://ci.x.test/1'),
  'migrationLog.digest': hex(64),
  'hook.url': fc.constantFrom('https://ci.x.test/hook', 'http://127.0.0.1:1'),
  'hook.authorization': fc.constantFrom('', 'Bearer abc'),
  'hook.events': fc.constantFrom([], ['push'], ['push', 'quota']),
  'delivery.uuid': uuid,
  'delivery.payload': uuid,
  'hookPayload.id': uuid,
  'hookPayload.commits': fc.constantFrom({ repository: 1, before: null, after: 'a'.repeat(40) }),
  'release.tag': fc.constantFrom('v1', 'v2', 'a/b', 'ß'),
  'attachment.name': fc.constantFrom('a', 'b.png', 'ß'),
  'attachment.uuid': uuid,
  'packageVersion.name': fc.constantFrom('a', 'A', 'b.c'),
  'packageVersion.version': fc.constantFrom('1', '1.0', 'a b'),
  'packageFile.name': fc.constantFrom('a', 'A', 'b c'),
  'packageFile.stored': uuid,
  'packageFile.md5': hex(32),
  'packageFile.sha1': hex(40),
  'packageFile.sha256': hex(64),
  'packageFile.sha512': hex(128),
}
