/** How accounts and repositories are shown wherever they occur. */
import { avatarOf } from '../../accounts/avatars.ts'
import type { Account, Repository } from '../../records/schema/index.ts'
import { NameLink, Size, StrongLink, usePageContext } from '../parts/components.tsx'
import { Facts, Row } from '../parts/list.tsx'
import { Dated } from '../parts/times.tsx'

/** The image of an account: that of the host, or the one that is made of the name, which needs no request. */
export const Avatar = ({
  name,
  size,
}: {
  name: string
  /** As large as the text beside it, when absent. */
  size?: 'medium' | 'large'
}) => {
  const url = usePageContext().avatarUrl(name)
  const className = size === undefined ? 'avatar' : `avatar ${size}`
  if (url !== undefined) return <img class={className} src={url} alt="" loading="lazy" />
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

/** A deleted or hidden user has no page. */
const isGhost = ({ id }: Pick<Account, 'id'>): boolean => id < 0

/** The name of an account, which leads to its page. */
export const AccountLink = ({ account }: { account: Pick<Account, 'id' | 'kind' | 'name'> }) => {
  const { servedPages } = usePageContext()
  return (
    <span class="person">
      <Avatar name={account.name} />{' '}
      {isGhost(account) || !servedPages.has(account.kind) ? (
        <bdi>{account.name}</bdi>
      ) : (
        <NameLink to={`/${account.name}`}>{account.name}</NameLink>
      )}
    </span>
  )
}

/** The labels of a repository: private, archived and fork. */
export const RepositoryTags = ({ repository }: { repository: Repository }) => (
  <>
    {repository.private && <span class="tag">private</span>}
    {repository.archived && <span class="tag">archived</span>}
    {repository.parent !== null && <span class="tag">fork</span>}
  </>
)

/** A repository in the list of those of its owner. */
export const RepositoryRow = ({ owner, repository }: { owner: string; repository: Repository }) => (
  <Row
    icon={repository.private ? 'lock' : 'repositories'}
    name={
      <>
        <StrongLink to={`/${owner}/${repository.name}`}>{repository.name}</StrongLink>{' '}
        <RepositoryTags repository={repository} />
      </>
    }
    aside={
      <Facts
        facts={[
          <Size bytes={repository.size + repository.lfs} />,
          <Dated seconds={repository.updatedAt}>updated</Dated>,
        ]}
      />
    }
  >
    {repository.description !== '' && (
      <p class="small">
        <bdi>{repository.description}</bdi>
      </p>
    )}
  </Row>
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
