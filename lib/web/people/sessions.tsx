/** @jsxRuntime automatic @jsxImportSource preact */
/** The user's sessions of the pages. Only where accounts sign in here. */
import type { OwnSession } from '../../accounts/sessions.ts'
import { AllotError } from '../../errors.ts'
import { formatCount, Post, Section, usePageContext } from '../parts/components.tsx'
import { page } from '../parts/route.ts'
import { LastUse, Minute } from '../parts/times.tsx'

const END = '/-/account/sessions/end'

export const sessionRoutes = [
  page({
    method: 'POST',
    path: END,
    auth: 'required',
    scope: 'write:user',
    async handle({ user, form }, { hosting }) {
      const id = form.text('session')
      if (!/^[0-9a-f]{64}$/.test(id) || !(await hosting.sessions.endOne(user.id, id)))
        throw new AllotError('not_found', 'this session has already ended')
      return { to: '/-/account?done=ended' }
    },
  }),
]

export const Sessions = ({ sessions }: { sessions: readonly OwnSession[] }) =>
  usePageContext().hasSessions ? (
    <Section
      id="sessions"
      title="Sessions"
      aside={<span class="small">{formatCount(sessions.length, 'session')}</span>}
    >
      <ul class="plain rows">
        {sessions.map((session) => (
          <SessionRow key={session.id} {...session} />
        ))}
      </ul>
      <p>Changing the password, or revoking the token that a session started with, also ends the session.</p>
      <Post to="/-/sign-out">
        <button type="submit" class="secondary" name="everywhere" value="yes">
          Sign out of all devices
        </button>
      </Post>
    </Section>
  ) : null

const SessionRow = ({ id, browser, address, createdAt, lastUsedAt, token, isCurrent }: OwnSession) => (
  <li class="line">
    <div>
      <strong>{browser ?? 'Unknown browser'}</strong>
      <div class="small">
        {address !== undefined && <>from {address} · </>}
        Signed in on <Minute seconds={createdAt} /> UTC{' '}
        {token === undefined ? (
          'with the password'
        ) : (
          <>
            with the token <bdi>{token}</bdi>
          </>
        )}
        {lastUsedAt !== undefined && (
          <>
            {' '}
            · <LastUse at={lastUsedAt} />
          </>
        )}
      </div>
    </div>
    {isCurrent ? (
      <span class="small">This session</span>
    ) : (
      <Post to={END} fields={[['session', id]]}>
        <button type="submit" class="danger small">
          Sign out<span class="hidden"> of this session</span>
        </button>
      </Post>
    )}
  </li>
)
