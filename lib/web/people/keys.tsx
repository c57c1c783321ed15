/**
 * The public keys of the user: SSH keys, which sign in to git, and GPG keys, which signatures are checked
 * with.
 */
import type { Identity } from '../../accounts/access.ts'
import { scopeOfKey, UsedKeyError } from '../../accounts/keys.ts'
import { AllotError } from '../../errors.ts'
import { requireScopesToGive } from '../../scopes.ts'
import { FlashMessage, Post, Section } from '../parts/components.tsx'
import { confirmationPage } from '../parts/confirmation.tsx'
import { Field, LongField } from '../parts/fields.tsx'
import type { Refusal } from '../parts/labels.ts'
import { pageNumber, sliceOf } from '../parts/paging.tsx'
import {
  type PageReply,
  type PageRequest,
  type PageServices,
  page,
  refusedForm,
  type View,
} from '../parts/route.ts'
import { GpgKeyList, KEYS, SshKeyList } from './key-lists.tsx'
import { SettingsHead, settingsForm, settingsPage } from './settings.tsx'

type KeyRequest = PageRequest<string, Identity>

/** What was entered in the form of a kind of keys that was refused. */
interface Refused {
  readonly kind: 'ssh' | 'gpg'
  readonly title: string
  readonly key: string
  readonly readOnly?: boolean
}

export const keyPageRoutes = [
  page({
    ...settingsPage,
    path: KEYS,
    handle: (request, services) => keysView(services, request, { done: request.query.get('done') }),
  }),
  page({
    ...settingsForm,
    path: `${KEYS}/ssh`,
    handle: (request, services) => {
      const [title, key] = [request.form.text('title'), request.form.text('key')]
      const readOnly = request.form.text('readOnly') !== ''
      const { user, client } = request
      return added(services, request, { kind: 'ssh', title, key, readOnly }, () => {
        requireScopesToGive(user, 'an SSH key', [scopeOfKey({ readOnly })])
        return services.hosting.sshKeys.add(user.id, { title, key, readOnly }, client)
      })
    },
  }),
  page({
    ...settingsForm,
    path: `${KEYS}/gpg`,
    handle: (request, services) => {
      const armored = request.form.text('armored')
      const { gpgKeys } = services.hosting
      return added(services, request, { kind: 'gpg', title: '', key: armored }, () =>
        gpgKeys.add(request.user.id, { armored }, request.client),
      )
    },
  }),
  page({
    ...settingsForm,
    path: `${KEYS}/delete`,
    async handle({ user, form }, { hosting }) {
      const [kind, id] = [form.text('kind'), form.text('id')]
      if (form.text('confirmed') === '') return confirmation(kind, id, form.text('name'))
      const keys = kind === 'gpg' ? hosting.gpgKeys : hosting.sshKeys
      if (!/^\d{1,15}$/.test(id) || !(await keys.remove(user.id, Number(id))))
        throw new AllotError('not_found', 'this key is already deleted')
      return { to: `${KEYS}?done=deleted` }
    },
  }),
]

/** Adds a key, or shows the form again with what was entered. */
const added = async (
  services: PageServices,
  request: KeyRequest,
  entered: Refused,
  add: () => Promise<unknown>,
): Promise<PageReply> => {
  try {
    await add()
  } catch (error) {
    return refusedForm(
      error,
      { invalid: 422, conflict: 422, forbidden: 403 },
      (refusal) => {
        const failure = error instanceof UsedKeyError ? usedFailure(error, entered.kind) : refusal
        return keysView(services, request, { failure }, entered)
      },
      { armored_public_key: 'armored' },
    )
  }
  return { to: `${KEYS}?done=added` }
}

const usedFailure = ({ used }: UsedKeyError, kind: Refused['kind']): Refusal =>
  used === 'title'
    ? { field: 'title', problem: 'another key of yours has this title' }
    : {
        field: kind === 'ssh' ? 'key' : 'armored',
        problem: 'the key was added before, by you or by another user',
      }

const keysView = async (
  { hosting, settings: { hasSsh } }: PageServices,
  { user, query }: KeyRequest,
  { done, failure }: FlashMessage,
  entered?: Refused,
): Promise<View> => {
  const [sshPage, gpgPage] = [pageNumber(query, 'ssh'), pageNumber(query, 'gpg')]
  const ssh = await hosting.sshKeys.list(user.id, sliceOf(sshPage))
  const gpg = await hosting.gpgKeys.list(user.id, sliceOf(gpgPage))
  const ofKind = (kind: Refused['kind']) => (entered?.kind === kind ? { ...entered, failure } : undefined)
  return {
    title: 'SSH and GPG keys',
    body: (
      <>
        <SettingsHead title="SSH and GPG keys" subtitle="Public keys, which everyone may read." />
        <FlashMessage done={done} failure={failure} />
        {(hasSsh || ssh.total > 0) && (
          <SshKeyList {...ssh} page={sshPage} to={(ssh) => keysPath(ssh, gpgPage)} />
        )}
        {hasSsh && <NewSshKey {...ofKind('ssh')} />}
        <GpgKeyList {...gpg} page={gpgPage} to={(gpg) => keysPath(sshPage, gpg)} />
        <NewGpgKey {...ofKind('gpg')} />
      </>
    ),
  }
}

/** Path of the page with a page of each list. */
const keysPath = (ssh: number, gpg: number): string => {
  const pages = Object.entries({ ssh, gpg }).filter(([, page]) => page > 1)
  const query = pages.map((pair) => pair.join('=')).join('&')
  return query === '' ? KEYS : `${KEYS}?${query}`
}

type Entered = Partial<Refused> & { failure?: Refusal | undefined }

const NewSshKey = ({ title = '', key = '', readOnly = false, failure }: Entered) => (
  <Section id="new-ssh" title="Add an SSH key">
    <Post to={`${KEYS}/ssh`} class="stacked">
      <Field
        name="title"
        value={title}
        hint="Such as the name of the computer."
        isRequired
        failure={failure}
      />
      <LongField name="key" value={key} failure={failure}>
        The line in a file such as <code>~/.ssh/id_ed25519.pub</code>.
      </LongField>
      <label class="box">
        <input type="checkbox" name="readOnly" value="yes" checked={readOnly} />
        <span>
          Read only <span class="small about">The key can clone and fetch, and not push.</span>
        </span>
      </label>
      <button type="submit">Add SSH key</button>
    </Post>
  </Section>
)

const NewGpgKey = ({ key = '', failure }: Entered) => (
  <Section id="new-gpg" title="Add a GPG key">
    <Post to={`${KEYS}/gpg`} class="stacked">
      <LongField name="armored" value={key} failure={failure}>
        The output of <code>gpg --armor --export</code>, with your address.
      </LongField>
      <button type="submit" class="secondary">
        Add GPG key
      </button>
    </Post>
  </Section>
)

const confirmation = (kind: string, id: string, name: string): View =>
  confirmationPage({
    title: 'Delete this key?',
    name,
    crumb: { name: 'SSH and GPG keys', to: KEYS },
    effect:
      kind === 'gpg'
        ? 'Others no longer find the key here, with which they check your signatures.'
        : 'Computers with the key can no longer clone, fetch and push over SSH as you.',
    to: `${KEYS}/delete`,
    fields: { kind, id },
    button: 'Delete key',
  })
