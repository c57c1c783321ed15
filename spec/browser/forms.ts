import {
  accounts,
  gpgKeys,
  groups,
  repositories,
  rules,
  sessions,
  sshKeys,
  tokens,
} from '../../lib/records/schema/index.ts'
import type { ReadTransaction } from '../../lib/storage/index.ts'
import { passwordLinkPath } from '../../lib/web/parts/password-link.ts'
import type { gnupg } from '../keys/gnupg.ts'
import { generateSshKey } from '../support/keygen.ts'
import type { PageServer } from '../web/browser.ts'
import { PASSWORD } from '../web/fixture.ts'

/** A form of the pages, with what it takes and what it refuses. */
export interface Form {
  /** Who sends it; a visitor when absent. */
  readonly who?: 'root' | 'ann' | 'pat'
  /**
   * Makes what the form is about.
   * @returns what stands for `#` in the paths and the tick; the number when absent
   */
  make?(number: number): Promise<unknown>
  /** Path of the page with the form. */
  readonly page: string
  readonly action: string
  /** A hidden field that tells the form apart from others with the same action. */
  readonly having?: readonly [name: string, value: string]
  /** The label of a box that is ticked first. */
  readonly tick?: string
  /** Whether the answer is another form, which asks first. */
  readonly asks?: true
  /** What is accepted, by the names of the fields; with each number something else. */
  values(number: number): Readonly<Record<string, string>>
  /** What each field refuses. */
  readonly wrong: Readonly<Record<string, readonly string[]>>
  /** What the form changes, and by how many records. */
  readonly changes?: readonly [collection: { all(tx: ReadTransaction): AsyncIterable<unknown> }, by: 1 | -1]
  readonly done: RegExp
  /** What the page says when the same is sent a second time. */
  readonly again: RegExp
}

export const LONG = 'x'.repeat(5000)

/** The n-th password of pat, who changes it. */
export const passwordNumber = (number: number) => `${PASSWORD} ${number}`

interface Tools {
  /** The server, once it has started. */
  readonly server: () => PageServer
  readonly gpg: ReturnType<typeof gnupg>
  readonly ids: ReadonlyMap<string, number>
  /** Which of the passwords of pat is the present one. */
  readonly changed: () => number
}

/** Every form of the pages but those of {@link ELSEWHERE}. */
export const formsOf = (tools: Tools): Readonly<Record<string, Form>> => ({
  ...settingForms(tools),
  ...quotaForms(tools),
  ...accountForms(tools),
})

/** Forms that other specs try, by their paths: the file and its call. */
export const ELSEWHERE: Readonly<Record<string, readonly [file: string, call: string]>> = {
  '/-/sign-in': ['web/sign-in.spec.ts', "post('/-/sign-in'"],
  '/-/sign-out': ['web/forms.spec.ts', "post('/-/sign-out'"],
  '/-/storage/{owner}/repositories/{repo}/gc': ['git/clean-up.spec.ts', '/gc`, {})'],
}

const settingForms = ({ server, gpg, ids, changed }: Tools): Readonly<Record<string, Form>> => {
  const hosting = () => server().allot.hosting
  const keys = new Map<string, string>()
  /** The same key for the same number. */
  const keyOf = (name: string, make: () => string): string => {
    const known = keys.get(name) ?? make()
    keys.set(name, known)
    return known
  }
  const sshKey = (number: number) => keyOf(`ssh ${number}`, () => generateSshKey('ed25519').key)
  const gpgKey = (number: number) =>
    keyOf(`gpg ${number}`, () => gpg.armored(gpg.generate(`Ann <ann${number}@example.test>`)))
  const ann = () => ids.get('ann')!
  return {
    'the profile': {
      who: 'ann',
      ...{ page: '/-/settings', action: '/-/settings' },
      values: (number) => ({ fullName: `Ann ${number}`, description: '', website: '', location: 'here' }),
      wrong: { fullName: [LONG], description: [LONG], website: [LONG], location: [LONG] },
      ...{ done: /Saved\./, again: /Saved\./ },
    },
    'the password': {
      who: 'pat',
      ...{ page: '/-/settings/password', action: '/-/settings/password' },
      values: () => ({
        currentPassword: passwordNumber(changed()),
        newPassword: passwordNumber(changed() + 1),
        repeatedPassword: passwordNumber(changed() + 1),
      }),
      wrong: {
        currentPassword: ['', '   ', 'wrong', LONG],
        newPassword: ['', '   ', 'short', LONG],
        repeatedPassword: ['', '   ', LONG],
      },
      done: /The password was changed/,
      // The second tab has a form of the session that the change has ended.
      // The change ends the session with which the second one was sent.
      again: /It is wrong|It was changed meanwhile|This form has expired|Your session has ended/,
    },
    'an SSH key': {
      who: 'ann',
      ...{ page: '/-/settings/keys', action: '/-/settings/keys/ssh' },
      values: (number) => ({ title: `key-${number}`, key: sshKey(number) }),
      wrong: { title: ['', '   ', LONG], key: ['', '   ', 'no key', LONG] },
      changes: [sshKeys, 1],
      ...{ done: /Added\./, again: /The key was added before/ },
    },
    'the deletion of a key': {
      who: 'ann',
      make: (number) =>
        hosting().sshKeys.add(ann(), {
          title: `old-${number}`,
          key: generateSshKey('ed25519').key,
        }),
      ...{ page: '/-/settings/keys', action: '/-/settings/keys/delete' },
      ...{ having: ['name', 'old-#'], asks: true },
      values: () => ({}),
      wrong: {},
      changes: [sshKeys, -1],
      ...{ done: /Deleted\./, again: /This key is already deleted\./ },
    },
    'a GPG key': {
      who: 'ann',
      ...{ page: '/-/settings/keys', action: '/-/settings/keys/gpg' },
      values: (number) => ({ armored: gpgKey(number) }),
      wrong: { armored: ['', '   ', 'no key', LONG] },
      changes: [gpgKeys, 1],
      ...{ done: /Added\./, again: /The key was added before/ },
    },
    'a token': {
      who: 'ann',
      ...{ page: '/-/account', action: '/-/account/tokens' },
      values: (number) => ({ name: `token-${number}` }),
      wrong: { name: ['', '   ', LONG] },
      changes: [tokens, 1],
      ...{ done: /Copy it now/, again: /A token named .* already exists/ },
    },
    'the end of a token': {
      who: 'ann',
      make: (number) => hosting().tokens.create(ann(), `old-${number}`, ['read:user']),
      ...{ page: '/-/account', action: '/-/account/revoke', having: ['name', 'old-#'], asks: true },
      values: () => ({}),
      wrong: {},
      changes: [tokens, -1],
      ...{ done: /Revoked\./, again: /This token is already revoked\./ },
    },
    'the end of another session': {
      who: 'ann',
      make: () => server().browser().signIn('ann', PASSWORD),
      ...{ page: '/-/account', action: '/-/account/sessions/end' },
      values: () => ({}),
      wrong: {},
      changes: [sessions, -1],
      ...{ done: /The session has ended\./, again: /This session has already ended\./ },
    },
    'the deletion of a repository': {
      who: 'ann',
      async make(number) {
        const owner = (await hosting().accounts.byId(ann()))!
        await hosting().repositories.create(owner, owner, { name: `gone-${number}` })
      },
      ...{ page: '/-/storage/ann/repositories', action: '/-/storage/ann/remove' },
      ...{ tick: 'Select gone-#', asks: true },
      values: (number) => ({ confirmation: `gone-${number}` }),
      wrong: { confirmation: ['', '   ', 'another', LONG] },
      changes: [repositories, -1],
      ...{ done: /Deleted\./, again: /What was selected is already deleted/ },
    },
  }
}

const quotaForms = ({ server }: Tools): Readonly<Record<string, Form>> => {
  const quota = () => server().allot.quota
  return {
    'a rule': {
      who: 'root',
      ...{ page: '/-/admin/rules', action: '/-/admin/rules' },
      values: (number) => ({ name: `rule-${number}`, limit: '2 GiB' }),
      wrong: {
        name: ['', '   ', 'total', LONG],
        limit: ['', '   ', 'much', '1,00 MiB', '9'.repeat(40), LONG],
        subject: ['size:none'],
      },
      changes: [rules, 1],
      ...{ done: /Created\./, again: /A rule named .* already exists/ },
    },
    'the limit of a rule': {
      who: 'root',
      ...{ page: '/-/admin/rule?name=total', action: '/-/admin/rule' },
      values: (number) => ({ limit: `${number} MiB` }),
      wrong: { limit: ['', '   ', 'much', LONG] },
      ...{ done: /Saved\./, again: /Saved\./ },
    },
    'the deletion of a rule': {
      who: 'root',
      make: (number) => quota().rules.create({ name: `old-${number}`, limit: 1, subjects: ['size:all'] }),
      ...{ page: '/-/admin/rule?name=old-#', action: '/-/admin/rule/delete', asks: true },
      values: () => ({}),
      wrong: {},
      changes: [rules, -1],
      ...{ done: /Deleted\./, again: /There is no rule named old-/ },
    },
    'a group': {
      who: 'root',
      ...{ page: '/-/admin/groups', action: '/-/admin/groups' },
      values: (number) => ({ name: `group-${number}` }),
      wrong: { name: ['', '   ', LONG] },
      changes: [groups, 1],
      ...{ done: /Created\./, again: /A group named .* already exists/ },
    },
    'the rules of a group': {
      who: 'root',
      ...{ page: '/-/admin/group?name=free', action: '/-/admin/group' },
      values: () => ({ rule: 'total' }),
      wrong: { rule: ['gone'] },
      ...{ done: /Saved\./, again: /Saved\./ },
    },
    'an owner of a group': {
      who: 'root',
      ...{ page: '/-/admin/group?name=free', action: '/-/admin/group/members' },
      values: (number) => ({ owner: number === 4 ? 'ann' : 'pat' }),
      wrong: { owner: ['', '   ', 'nobody', LONG] },
      ...{ done: /Added\./, again: /The group free is already assigned/ },
    },
    'the deletion of a group': {
      who: 'root',
      make: (number) => quota().groups.create({ name: `old-${number}`, rules: [] }),
      ...{ page: '/-/admin/group?name=old-#', action: '/-/admin/group/delete', asks: true },
      values: () => ({}),
      wrong: {},
      changes: [groups, -1],
      ...{ done: /Deleted\./, again: /There is no group named old-/ },
    },
    'the groups of owners': {
      who: 'root',
      ...{ page: '/-/admin/owners', action: '/-/admin/owners', tick: 'Select ann' },
      values: () => ({ group: 'free' }),
      wrong: { owner: ['nobody'], group: ['', 'gone'] },
      ...{ done: /Saved\./, again: /Saved\./ },
    },
  }
}

const accountForms = ({ server }: Tools): Readonly<Record<string, Form>> => {
  const hosting = () => server().allot.hosting
  const newUser = (name: string) => hosting().accounts.createUser({ name })
  return {
    'a user': {
      who: 'root',
      ...{ page: '/-/admin/accounts/new?kind=user', action: '/-/admin/accounts/new' },
      values: (number) => ({ name: `user-${number}`, fullName: 'A name', email: '', password: PASSWORD }),
      wrong: {
        name: ['', '   ', 'a name', LONG],
        fullName: [LONG],
        email: ['no address', `${LONG}@example.test`],
        password: ['short', LONG],
        visibility: ['secret'],
      },
      changes: [accounts, 1],
      ...{ done: /Created\./, again: /(?:user|org)-\d+ is already taken/ },
    },
    'an organization': {
      who: 'root',
      ...{ page: '/-/admin/accounts/new?kind=organization', action: '/-/admin/accounts/new' },
      values: (number) => ({ name: `org-${number}`, fullName: '', description: 'More', owner: 'ann' }),
      wrong: { name: ['', '   ', 'a name', LONG], description: [LONG], owner: ['nobody', LONG] },
      changes: [accounts, 1],
      ...{ done: /Created\./, again: /(?:user|org)-\d+ is already taken/ },
    },
    'an account': {
      who: 'root',
      ...{ page: '/-/admin/account?name=ann', action: '/-/admin/account' },
      values: (number) => ({ fullName: `Ann ${number}`, email: `first-${number}@example.test` }),
      wrong: { fullName: [LONG], email: ['no address', `${LONG}@example.test`], visibility: ['none'] },
      ...{ done: /Saved\./, again: /Saved\./ },
    },
    'the password of a user': {
      who: 'root',
      ...{ page: '/-/admin/account?name=eve', action: '/-/admin/account/password' },
      values: () => ({ password: PASSWORD }),
      wrong: { password: ['', 'short', LONG] },
      ...{ done: /Saved\./, again: /Saved\./ },
    },
    'a link to set a password': {
      who: 'root',
      ...{ page: '/-/admin/account?name=eve', action: '/-/admin/account/password-link' },
      values: () => ({}),
      wrong: {},
      ...{ done: /The link was created/, again: /The link was created/ },
    },
    'the password of such a link': {
      async make(number) {
        const { id } = await newUser(`new-${number}`)
        return passwordLinkPath((await hosting().passwordLinks.create(id))!)
      },
      ...{ page: '#', action: '/-/set-password' },
      values: () => ({ password: PASSWORD }),
      wrong: { password: ['', 'short', LONG] },
      done: /Storage of new-/,
      // The second tab has a form of the session before the user was signed in.
      again: /This form has expired/,
    },
    'a token of a user': {
      who: 'root',
      ...{ page: '/-/admin/account?name=eve', action: '/-/admin/account/token' },
      values: (number) => ({ token: `token-${number}` }),
      wrong: { token: ['', '   ', LONG] },
      changes: [tokens, 1],
      ...{ done: /Copy it now/, again: /A token named .* already exists/ },
    },
    'the end of the use of an account': {
      who: 'root',
      make: (number) => newUser(`off-${number}`),
      ...{ page: '/-/admin/account?name=off-#', action: '/-/admin/account/active' },
      values: () => ({}),
      wrong: {},
      ...{ done: /Disabled\./, again: /Disabled\./ },
    },
    'the deletion of an account': {
      who: 'root',
      make: (number) => newUser(`gone-${number}`),
      ...{ page: '/-/admin/account?name=gone-#', action: '/-/admin/account/delete', asks: true },
      values: (number) => ({ confirmation: `gone-${number}` }),
      wrong: { confirmation: ['', '   ', 'another', LONG] },
      changes: [accounts, -1],
      ...{ done: /Deleted\./, again: /There is no account named gone-/ },
    },
  }
}
