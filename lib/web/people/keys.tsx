/**
 * The public keys of the user: SSH keys, which sign in to git, and GPG keys, with which others check
 * signatures. Allot verifies no signature of a commit.
 */
import type { ComponentChildren } from 'preact'
import type { Identity } from '../../accounts/access.ts'
import { scopeOfKey } from '../../accounts/keys.ts'
import { AllotError, takenMember } from '../../errors.ts'
import type { Page } from '../../records/pages.ts'
import type { GpgKey, SshKey } from '../../records/schema/index.ts'
import { requireScopesToGive } from '../../scopes.ts'
import { Empty, Post, Section, Submit } from '../parts/components.tsx'
import { confirmationPage } from '../parts/confirmation.tsx'
import { Box, Field, LongField, useChosen } from '../parts/fields.tsx'
import { List, Row, Strong } from '../parts/list.tsx'
import { pageNumber, sliceOf, withQuery } from '../parts/paging.tsx'
import { form, type PageRequest, type PageServices, page, type View } from '../parts/route.ts'
import { Dated } from '../parts/times.tsx'
import { settingsForm, settingsPage, settingsView } from './settings.tsx'

/** Path of the page. */
const KEYS = '/-/settings/keys'

type KeyRequest = PageRequest<never, Identity>

export const keyPageRoutes = [
  page({ ...settingsPage, path: KEYS, handle: (request, services) => keysView(services, request) }),
  form({ ...settingsForm, path: `${KEYS}/ssh` }, (request, services) => ({
    async run() {
      const { user, client, form } = request
      const readOnly = form.text('readOnly') !== ''
      requireScopesToGive(user, 'an SSH key', [scopeOfKey({ readOnly })])
      const entered = { title: form.text('title'), key: form.text('key'), readOnly }
      await services.hosting.sshKeys.add(user.id, entered, client).catch(usedFailure)
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
        await services.hosting.gpgKeys.add(user.id, entered, client).catch(usedFailure)
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
const usedFailure = (error: unknown): never => {
  if (!(error instanceof AllotError && error.code === 'conflict' && error.field !== undefined)) throw error
  const isTitle = error.field === 'title'
  throw takenMember(
    error.field,
    isTitle ? 'another key of yours has this title' : 'the key was added before, by you or by another user',
  )
}

const keysView = async (
  { hosting, settings: { hasSsh } }: PageServices,
  { user, query }: KeyRequest,
): Promise<View> => {
  const [sshPage, gpgPage] = [pageNumber(query, 'ssh'), pageNumber(query, 'gpg')]
  const ssh = await hosting.sshKeys.list(user.id, sliceOf(sshPage))
  const gpg = await hosting.gpgKeys.list(user.id, sliceOf(gpgPage))
  return settingsView(
    'SSH and GPG keys',
    'Public keys, which everyone may read.',
    <>
      {(hasSsh || ssh.total > 0) && (
        <KeyList
          {...ssh}
          kind="ssh"
          title="SSH keys"
          empty="Add one below to clone and push over SSH."
          nameOf={({ title }) => title}
          factsOf={sshFacts}
          page={sshPage}
          to={(ssh) => keysPath(ssh, gpgPage)}
        />
      )}
      {hasSsh && <NewSshKey />}
      <KeyList
        {...gpg}
        kind="gpg"
        title="GPG keys"
        empty="Add one below, so that others can check what you signed."
        nameOf={({ keyId }) => keyId}
        factsOf={gpgFacts}
        page={gpgPage}
        to={(gpg) => keysPath(sshPage, gpg)}
      />
      <NewGpgKey />
    </>,
  )
}

/** Path of the page with a page of each list. */
const keysPath = (ssh: number, gpg: number): string =>
  withQuery(KEYS, { ssh: ssh > 1 && ssh, gpg: gpg > 1 && gpg })

const sshFacts = ({ key, fingerprint, createdAt, readOnly }: SshKey) => [
  <>
    {key.split(' ')[0]} <code class="id">{fingerprint}</code>
  </>,
  <Dated seconds={createdAt}>added on</Dated>,
  readOnly && 'read only',
]

const gpgFacts = ({ emails, createdAt, expiresAt, revoked }: GpgKey) => [
  <bdi>{emails.join(', ')}</bdi>,
  <Dated seconds={createdAt}>made on</Dated>,
  expiresAt !== null && <Dated seconds={expiresAt}>expires on</Dated>,
  revoked === true && 'revoked',
]

interface KeyListProps<Key> extends Page<Key> {
  kind: 'ssh' | 'gpg'
  title: string
  empty: string
  nameOf(key: Key): string
  factsOf(key: Key): readonly ComponentChildren[]
  page: number
  /** @returns the path of a page of the list, beside the same page of the other */
  to(page: number): string
}

const KeyList = <Key extends { id: number }>(props: KeyListProps<Key>) => {
  const { kind, title, empty, nameOf, factsOf, ...list } = props
  return (
    <List
      {...list}
      id={kind}
      title={title}
      counted="key"
      label={`Pages of the ${title}`}
      empty={
        <Empty title={`No ${title}`} icon="key">
          <p>{empty}</p>
        </Empty>
      }
      row={(key) => (
        <Row
          key={key.id}
          icon="key"
          name={<Strong>{nameOf(key)}</Strong>}
          facts={factsOf(key)}
          aside={<DeleteKey kind={kind} id={String(key.id)} name={nameOf(key)} />}
        />
      )}
    />
  )
}

const DeleteKey = (fields: { kind: string; id: string; name: string }) => (
  <Post to={`${KEYS}/delete`} fields={fields}>
    <button type="submit" class="danger small" aria-label={`Delete ${fields.name}…`}>
      Delete…
    </button>
  </Post>
)

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
      <Submit kind="secondary">Add GPG key</Submit>
    </Post>
  </Section>
)
