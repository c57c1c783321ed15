/** How accounts and repositories are shown wherever they occur. */
import type { Identity, Viewer } from '../../accounts/access.ts'
import { avatarOf } from '../../accounts/avatars.ts'
import { add } from '../../integers.ts'
import type { Account, Repository } from '../../records/schema/index.ts'
import { hasScope, type Scope } from '../../scopes.ts'
import { Link, Size, usePageContext } from '../parts/components.tsx'
import { Dots, Named } from '../parts/inline.tsx'
import { Day } from '../parts/times.tsx'

/** The image of an account: the uploaded one, or the one that is made of the name, which needs no request. */
export const Avatar = ({
  account: { name, avatar },
  size,
}: {
  account: Pick<Account, 'name'> & { readonly avatar?: Account['avatar'] | undefined }
  /** As large as the text beside it, when absent. */
  size?: 'medium' | 'large'
}) => {
  const { urlOf } = usePageContext()
  const className = size === undefined ? 'avatar' : `avatar ${size}`
  if (avatar !== undefined)
    return <img class={className} src={urlOf(avatarPath(name, avatar))} alt="" loading="lazy" />
  const { letter, color } = avatarOf(name)
  return (
    <svg class={className} viewBox="0 0 64 64" aria-hidden="true">
      <rect width="64" height="64" fill={color} />
      <text x="32" y="44" font-size="32" font-weight="600" text-anchor="middle" fill="#fff">
        {letter}
      </text>
    </svg>
  )
}

/** The scope that a session needs to change the picture of an account which its user may change. */
export const pictureScope = (
  user: Pick<Identity, 'id'>,
  { id, kind }: Pick<Account, 'id' | 'kind'>,
): Scope => {
  if (id === user.id) return 'write:user'
  return kind === 'organization' ? 'write:organization' : 'write:admin'
}

/** Whether the session may change the picture of an account, which its user may change. */
export const mayChangePicture = (user: NonNullable<Viewer>, account: Pick<Account, 'id' | 'kind'>): boolean =>
  hasScope(user.scopes, pictureScope(user, account))

const avatarPath = (name: string, key: string): string => `/-/avatars/${name}/${key}`

/** A deleted or hidden user has no page. */
const isGhost = ({ id }: Pick<Account, 'id'>): boolean => id < 0

/** The name of an account, which leads to its page. */
export const AccountLink = ({ account }: { account: Pick<Account, 'id' | 'kind' | 'name' | 'avatar'> }) => {
  const { servedPages } = usePageContext()
  return (
    <span class="person">
      <Avatar account={account} />{' '}
      {isGhost(account) || !servedPages.has(account.kind) ? (
        <bdi>{account.name}</bdi>
      ) : (
        <Link to={`/${account.name}`}>
          <bdi>{account.name}</bdi>
        </Link>
      )}
    </span>
  )
}

/** The labels of a repository: private, archived, mirror and fork. */
export const RepositoryTags = ({ repository }: { repository: Repository }) => (
  <>
    {repository.private && <span class="tag">private</span>}
    {repository.archived && <span class="tag">archived</span>}
    {repository.mirror && <span class="tag">mirror</span>}
    {repository.parent !== null && <span class="tag">fork</span>}
  </>
)

/** Repositories of one owner. */
export const RepositoryList = ({
  owner,
  repositories,
}: {
  owner: string
  repositories: readonly Repository[]
}) => (
  <ul class="plain rows">
    {repositories.map((repository) => (
      <li key={repository.id} class="line">
        <Named icon={repository.private ? 'lock' : 'repositories'}>
          <Link class="strong" to={`/${owner}/${repository.name}`}>
            <bdi>{repository.name}</bdi>
          </Link>{' '}
          <RepositoryTags repository={repository} />
          {repository.description !== '' && (
            <p class="small">
              <bdi>{repository.description}</bdi>
            </p>
          )}
        </Named>
        <div class="small">
          <Dots
            facts={[
              <Size bytes={add(repository.size, repository.lfs)} />,
              <>
                updated <Day seconds={repository.updatedAt} />
              </>,
            ]}
          />
        </div>
      </li>
    ))}
  </ul>
)

/** A website as people write it: only addresses of the web become links. */
export const Website = ({ url }: { url: string }) =>
  /^https?:\/\/[^\s\p{Cc}]+$/iu.test(url) ? (
    <a href={url} rel="nofollow noopener">
      <bdi>{url.replace(/^https?:\/\/(?:www\.)?/i, '').replace(/\/$/, '')}</bdi>
    </a>
  ) : (
    <bdi>{url}</bdi>
  )
