/** The user's own access tokens and sessions. */
import type { Identity } from '../../accounts/access.ts'
import { AllotError, invalidMember } from '../../errors.ts'
import type { Page } from '../../records/pages.ts'
import type { Token } from '../../records/schema/index.ts'
import { hasScope, requireScopesToGive, SCOPES, type Scope } from '../../scopes.ts'
import { Empty, Post, Section } from '../parts/components.tsx'
import { confirmationPage } from '../parts/confirmation.tsx'
import { Box, FieldFailure, NameField, useChosen } from '../parts/fields.tsx'
import { labelOf } from '../parts/labels.ts'
import { List, Row, Strong } from '../parts/list.tsx'
import { pageNumber, sliceOf } from '../parts/paging.tsx'
import { type Crumb, form, type PageRequest, type PageServices, page, type View } from '../parts/route.ts'
import { secretView } from '../parts/secret.tsx'
import { Dated, LastUse } from '../parts/times.tsx'
import { Sessions } from './sessions.tsx'
import { settingsForm, settingsPage, settingsView } from './settings.tsx'

/** Scopes that the API accepts for clients of Forgejo. They allow nothing, so forms do not offer them. */
type EmptyScope = 'read:misc' | 'write:misc'
type OfferedScope = Exclude<Scope, EmptyScope>

/** What each scope allows. */
const SCOPE_TEXTS: Readonly<Record<OfferedScope, string>> = {
  all: 'Everything that your account may do.',
  'read:user': 'Read your profile, keys, stars and storage.',
  'write:user': 'Change your profile, keys, stars and tokens.',
  'read:repository': 'Read repositories, also private ones; clone and fetch.',
  'write:repository': 'Push, and create, change and delete repositories.',
  'read:organization': 'Read organizations and their storage.',
  'write:organization': 'Create and change organizations and their members.',
  'read:package': 'Download packages.',
  'write:package': 'Upload and delete packages.',
  'read:issue': 'Read issues and comments.',
  'write:issue': 'Write issues, comments and their attachments.',
  'read:admin': 'For administrators: read everything about all accounts.',
  'write:admin': 'For administrators: change accounts, rules, groups and the ledger.',
  'read:secrets': 'For administrators: export everything, with password hashes.',
}

const crumbOf = ({ settings }: PageServices): Crumb => ({
  name: settings.hasSessions ? 'Tokens and sessions' : 'Tokens',
  to: '/-/account',
})

export const tokenPageRoutes = [
  page({ ...settingsPage, path: '/-/account', handle: (request, services) => tokensView(services, request) }),
  form({ ...settingsForm, path: '/-/account/tokens' }, (request, services) => ({
    async run() {
      const { user, form } = request
      const name = form.text('name')
      const { secret } = await createToken(services, request, user.id, name)
      return createdView(user.username, name, secret, [crumbOf(services)])
    },
    page: () => tokensView(services, request),
  })),
  form({ ...settingsForm, path: '/-/account/revoke' }, (request, services) => {
    const { user, form } = request
    const id = form.text('token')
    return {
      asks: () =>
        confirmationPage({
          title: 'Revoke this token?',
          name: form.text('name'),
          crumb: crumbOf(services),
          effect: 'Programs that use the token stop working at once, and sessions that began with it end.',
          to: '/-/account/revoke',
          fields: { token: id },
          button: 'Revoke token',
        }),
      async run() {
        if (!/^\d{1,15}$/.test(id) || !(await services.hosting.tokens.remove(user.id, Number(id), user)))
          throw new AllotError('not_found', 'this token is already revoked')
        return '/-/account?done=revoked'
      },
      page: () => tokensView(services, request),
    }
  }),
]

/**
 * Creates a token with the chosen scopes.
 * @throws AllotError invalid without a scope; forbidden for one that the session does not have
 */
export const createToken = (
  { hosting }: PageServices,
  { user, form }: Pick<PageRequest<never, Identity>, 'user' | 'form'>,
  owner: number,
  name: string,
) => {
  const scopes = form.all('scope')
  if (scopes.length === 0) throw invalidMember('scopes', 'choose at least one')
  requireScopesToGive(user, 'a token', scopes)
  return hosting.tokens.create(owner, name, scopes, user)
}

const tokensView = async (
  services: PageServices,
  { user, secret, query }: Pick<PageRequest<never, Identity>, 'user' | 'secret' | 'query'>,
): Promise<View> => {
  const { hosting, settings } = services
  const number = pageNumber(query)
  const tokens = await hosting.tokens.list(user.id, sliceOf(number))
  const sessions = settings.hasSessions ? await hosting.sessions.list(user.id, secret) : undefined
  return settingsView(
    crumbOf(services).name,
    'Access tokens let programs act for you, within their scopes.',
    <>
      <Tokens tokens={tokens} page={number} />
      <Section id="new" title="New token" about="Choose only the scopes that the program needs.">
        <Post to="/-/account/tokens" class="stacked">
          <NameField hint="What it is for, such as “backup”." />
          <ScopeFields user={user} />
          <button type="submit">Create token</button>
        </Post>
      </Section>
      {sessions !== undefined && <Sessions sessions={sessions} />}
    </>,
  )
}

const Tokens = ({ tokens, page }: { tokens: Page<Token>; page: number }) => (
  <List
    id="tokens"
    title="Your tokens"
    counted="token"
    {...tokens}
    page={page}
    to={(to) => `/-/account?page=${to}`}
    empty={
      <Empty title="No tokens" icon="token">
        <p>Create one below for git over HTTPS, continuous integration or the command line.</p>
      </Empty>
    }
    row={({ id, name, scopes, lastEight, createdAt, lastUsedAt }) => (
      <Row
        key={id}
        icon="token"
        name={<Strong>{name}</Strong>}
        facts={[
          <>
            ends in <code>{lastEight}</code>
          </>,
          <Dated seconds={createdAt}>created on</Dated>,
          <LastUse at={lastUsedAt} />,
        ]}
        aside={
          <Post to="/-/account/revoke" fields={{ token: String(id), name }}>
            <button type="submit" class="danger small" aria-label={`Revoke ${name}`}>
              Revoke…
            </button>
          </Post>
        }
      >
        <div class="small">
          {scopes.length === 1 ? 'scope' : 'scopes'}: {scopes.join(', ')}
        </div>
      </Row>
    )}
  />
)

const isOffered = (scope: Scope): scope is OfferedScope => Object.hasOwn(SCOPE_TEXTS, scope)

/** The scopes that the session may give to a token. */
export const ScopeFields = ({ user }: { user: Identity }) => {
  const chosen = useChosen('scope', ['read:user', 'read:repository'])
  return (
    <fieldset class="options">
      <legend>{labelOf('scopes')}</legend>
      <div class="option-columns">
        {SCOPES.filter(isOffered)
          .filter((scope) => hasScope(user.scopes, scope) && (user.admin || !/admin|secrets/.test(scope)))
          .map((scope) => (
            <Box
              key={scope}
              field="scopes"
              name="scope"
              value={scope}
              isChecked={chosen.includes(scope)}
              class="scope"
            >
              <code>{scope}</code> <span class="small">{SCOPE_TEXTS[scope]}</span>
            </Box>
          ))}
      </div>
      <p class="small">
        The scopes <code>read:misc</code> and <code>write:misc</code> of Forgejo allow nothing here.
      </p>
      <FieldFailure field="scopes" />
    </fieldset>
  )
}

/** Shows a token once. */
export const createdView = (username: string, name: string, secret: string, crumbs: readonly Crumb[]): View =>
  secretView({
    title: 'New token',
    name,
    message: 'The token was created.',
    section: ['token', 'Token'],
    secret,
    hint: (
      <>
        Programs send it as <code>Authorization: token …</code>; git takes it as the password of {username}.
      </>
    ),
    crumbs,
  })
