/**
 * The public keys of the user: SSH keys, which sign in to git, and GPG keys, which signatures are checked
 * with.
 */
import type { Identity } from '../../accounts/access.ts'
import { scopeOfKey, UsedKeyError } from '../../accounts/keys.ts'
import { AllotError, takenMember } from '../../errors.ts'
import { requireScopesToGive } from '../../scopes.ts'
import { Post, Section } from '../parts/components.tsx'
import { confirmationPage } from '../parts/confirmation.tsx'
import { Box, Field, LongField, useChosen } from '../parts/fields.tsx'
import { pageNumber, sliceOf } from '../parts/paging.tsx'
import { form, type PageRequest, type PageServices, page, type View } from '../parts/route.ts'
import { GpgKeyList, KEYS, SshKeyList } from './key-lists.tsx'
import { SettingsHead, settingsForm, settingsPage } from './settings.tsx'

type KeyRequest = PageRequest<never, Identity>

export const keyPageRoutes = [
  page({ ...settingsPage, path: KEYS, handle: (request, services) => keysView(services, request) }),
  form({ ...settingsForm, path: `${KEYS}/ssh` }, (request, services) => ({
    async run() {
      const { user, client, form } = request
      const readOnly = form.text('readOnly') !== ''
      requireScopesToGive(user, 'an SSH key', [scopeOfKey({ readOnly })])
      const entered = { title: form.text('title'), key: form.text('key'), readOnly }
      await services.hosting.sshKeys.add(user.id, entered, client).catch(usedFailure('key'))
      return `${KEYS}?done=added`
    },
    page: () => keysView(services, request),
  })),
  form(
    { ...settingsForm, path: `${KEYS}/gpg`, names: { armored_public_key: 'armored' } },
    (request, services) => ({
      async run() {
        const { user, client, form } = request
        const entered = { armored: form.text('armored') }
        await services.hosting.gpgKeys.add(user.id, entered, client).catch(usedFailure('armored'))
        return `${KEYS}?done=added`
      },
      page: () => keysView(services, request),
    }),
  ),
  form({ ...settingsForm, path: `${KEYS}/delete` }, (request, services) => {
    const [kind, id] = [request.form.text('kind'), request.form.text('id')]
    return {
      asks: () =>
        confirmationPage({
          title: 'Delete this key?',
          name: request.form.text('name'),
          crumb: { name: 'SSH and GPG keys', to: KEYS },
          effect:
            kind === 'gpg'
              ? 'Others no longer find the key here, with which they check your signatures.'
              : 'Computers with the key can no longer clone, fetch and push over SSH as you.',
          to: `${KEYS}/delete`,
          fields: { kind, id },
          button: 'Delete key',
        }),
      async run() {
        const keys = services.hosting[kind === 'gpg' ? 'gpgKeys' : 'sshKeys']
        if (!/^\d{1,15}$/.test(id) || !(await keys.remove(request.user.id, Number(id))))
          throw new AllotError('not_found', 'this key is already deleted')
        return `${KEYS}?done=deleted`
      },
      page: () => keysView(services, request),
    }
  }),
]

/** Says in words of the pages that a key or its title is used already. */
const usedFailure =
  (field: 'key' | 'armored') =>
  (error: unknown): never => {
    if (!(error instanceof UsedKeyError)) throw error
    throw error.used === 'title'
      ? takenMember('title', 'another key of yours has this title')
      : takenMember(field, 'the key was added before, by you or by another user')
  }

const keysView = async (
  { hosting, settings: { hasSsh } }: PageServices,
  { user, query }: KeyRequest,
): Promise<View> => {
  const [sshPage, gpgPage] = [pageNumber(query, 'ssh'), pageNumber(query, 'gpg')]
  const ssh = await hosting.sshKeys.list(user.id, sliceOf(sshPage))
  const gpg = await hosting.gpgKeys.list(user.id, sliceOf(gpgPage))
  return {
    title: 'SSH and GPG keys',
    body: (
      <>
        <SettingsHead title="SSH and GPG keys" subtitle="Public keys, which everyone may read." />
        {(hasSsh || ssh.total > 0) && (
          <SshKeyList {...ssh} page={sshPage} to={(ssh) => keysPath(ssh, gpgPage)} />
        )}
        {hasSsh && <NewSshKey />}
        <GpgKeyList {...gpg} page={gpgPage} to={(gpg) => keysPath(sshPage, gpg)} />
        <NewGpgKey />
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

const NewSshKey = () => (
  <Section id="new-ssh" title="Add an SSH key">
    <Post to={`${KEYS}/ssh`} class="stacked">
      <Field name="title" hint="Such as the name of the computer." isRequired />
      <LongField name="key">
        The line in a file such as <code>~/.ssh/id_ed25519.pub</code>.
      </LongField>
      <ReadOnlyBox />
      <button type="submit">Add SSH key</button>
    </Post>
  </Section>
)

const ReadOnlyBox = () => (
  <Box name="readOnly" isChecked={useChosen('readOnly').includes('yes')}>
    Read only <span class="small about">The key can clone and fetch, and not push.</span>
  </Box>
)

const NewGpgKey = () => (
  <Section id="new-gpg" title="Add a GPG key">
    <Post to={`${KEYS}/gpg`} class="stacked">
      <LongField name="armored">
        The output of <code>gpg --armor --export</code>, with your address.
      </LongField>
      <button type="submit" class="secondary">
        Add GPG key
      </button>
    </Post>
  </Section>
)
