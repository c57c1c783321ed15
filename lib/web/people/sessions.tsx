/** The user's sessions of the pages. Only where accounts sign in here. */
import type { OwnSession } from '../../accounts/sessions.ts'
import { AllotError } from '../../errors.ts'
import { hasScope } from '../../scopes.ts'
import { Count, Post, Section, usePageContext } from '../parts/components.tsx'
import { Dots, Named } from '../parts/inline.tsx'
import { page } from '../parts/route.ts'
import { LastUse, Minute } from '../parts/times.tsx'
import { settingsForm } from './settings.tsx'

const END = '/-/account/sessions/end'

export const sessionPageRoutes = [
  page({
    ...settingsForm,
    method: 'POST',
    path: END,
    async handle({ user, form }, { hosting }) {
      const id = form.text('session')
      if (!/^[0-9a-f]{64}$/.test(id) || !(await hosting.sessions.endOne(user.id, id)))
        throw new AllotError('not_found', 'this session has already ended')
      return { to: '/-/account?done=ended' }
    },
  }),
]

/** The sessions. A session that may only read has no buttons to end others. */
export const Sessions = ({ sessions }: { sessions: readonly OwnSession[] }) => {
  const { user } = usePageContext()
  const mayEnd = user !== null && hasScope(user.scopes, 'write:user')
  const list = (
    <ul class="plain rows">
      {sessions.map((session) => (
        <SessionRow key={session.id} mayEnd={mayEnd} {...session} />
      ))}
    </ul>
  )
  return (
    <Section
      id="sessions"
      title="Sessions"
      aside={<Count of={sessions.length} singular="session" />}
      about="A session also ends when you change the password, or revoke the token that it started with."
    >
      {mayEnd ? <Post to={END}>{list}</Post> : list}
      {mayEnd && (
        <Post to="/-/sign-out" class="footer">
          <button type="submit" class="secondary" name="everywhere" value="yes">
            Sign out of all devices
          </button>
        </Post>
      )}
    </Section>
  )
}

const SessionRow = ({
  id,
  browser,
  address,
  createdAt,
  lastUsedAt,
  token,
  isCurrent,
  mayEnd,
}: OwnSession & { mayEnd: boolean }) => (
  <li class="line">
    <Named icon="session">
      <strong>{browser ?? 'Unknown browser'}</strong>
      <div class="small">
        <Dots
          facts={[
            `from ${address}`,
            <>
              signed in on <Minute seconds={createdAt} /> UTC{' '}
              {token === undefined ? (
                'with the password'
              ) : (
                <>
                  with the token <bdi>{token}</bdi>
                </>
              )}
            </>,
            // Saved by the hour, so the first use would stand before the time of the sign-in.
            lastUsedAt > createdAt && <LastUse at={lastUsedAt} />,
          ]}
        />
      </div>
    </Named>
    {isCurrent && <span class="tag">This session</span>}
    {!isCurrent && mayEnd && (
      <button type="submit" class="secondary small" name="session" value={id}>
        Sign out<span class="hidden"> of this session</span>
      </button>
    )}
  </li>
)
