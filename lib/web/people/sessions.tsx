/** The user's sessions of the pages. Only where accounts sign in here. */
import type { OwnSession } from '../../accounts/sessions.ts'
import { AllotError } from '../../errors.ts'
import { hasScope } from '../../scopes.ts'
import { Post, usePageContext } from '../parts/components.tsx'
import { List, Row } from '../parts/list.tsx'
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
    <List
      id="sessions"
      title="Sessions"
      counted="session"
      about="A session also ends when you change the password, or revoke the token that it started with."
      items={sessions}
      empty={undefined}
      below={
        mayEnd && (
          <Post to="/-/sign-out" class="footer">
            <button type="submit" class="secondary" name="everywhere" value="yes">
              Sign out of all devices
            </button>
          </Post>
        )
      }
    >
      {mayEnd ? <Post to={END}>{list}</Post> : list}
    </List>
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
  <Row
    icon="session"
    name={<strong>{browser ?? 'Unknown browser'}</strong>}
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
    aside={
      isCurrent ? (
        <span class="tag">This session</span>
      ) : (
        mayEnd && (
          <button type="submit" class="secondary small" name="session" value={id}>
            Sign out<span class="hidden"> of this session</span>
          </button>
        )
      )
    }
  />
)
