/** The lists of the user's keys, each with a button to delete a key. */
import type { ComponentChildren } from 'preact'
import type { Page } from '../../records/pages.ts'
import type { GpgKey, SshKey } from '../../records/schema/index.ts'
import { Count, Empty, Post, Section } from '../parts/components.tsx'
import { Dots, Named } from '../parts/inline.tsx'
import { EmptyPage, Pages } from '../parts/paging.tsx'
import { Day } from '../parts/times.tsx'

/** Path of the page. */
export const KEYS = '/-/settings/keys'

/** The page of a list. */
interface Paged {
  readonly page: number
  /** @returns the path of a page of the list, beside the same page of the other */
  to(page: number): string
}

type ListProps<K> = Page<K> & Paged

export const SshKeyList = ({ items, total, page, to }: ListProps<SshKey>) => (
  <KeyList
    kind="ssh"
    title="SSH keys"
    empty="Add one below to clone and push over SSH."
    total={total}
    page={page}
    to={to}
    keys={items.map(({ id, title, key, fingerprint, createdAt, readOnly }) => ({
      id,
      name: title,
      details: [
        <>
          {key.split(' ')[0]} <code class="id">{fingerprint}</code>
        </>,
        <>
          added on <Day seconds={createdAt} />
        </>,
        readOnly && 'read only',
      ],
    }))}
  />
)

export const GpgKeyList = ({ items, total, page, to }: ListProps<GpgKey>) => (
  <KeyList
    kind="gpg"
    title="GPG keys"
    empty="Add one below, so that others can check what you signed."
    total={total}
    page={page}
    to={to}
    keys={items.map(({ id, keyId, emails, createdAt, expiresAt, revoked }) => ({
      id,
      name: keyId,
      details: [
        <bdi>{emails.join(', ')}</bdi>,
        <>
          made on <Day seconds={createdAt} />
        </>,
        expiresAt !== null && (
          <>
            expires on <Day seconds={expiresAt} />
          </>
        ),
        revoked === true && 'revoked',
      ],
    }))}
  />
)

interface KeyListProps extends Paged {
  kind: 'ssh' | 'gpg'
  title: string
  empty: string
  keys: readonly { id: number; name: string; details: readonly ComponentChildren[] }[]
  total: number
}

const KeyList = ({ kind, title, empty, keys, total, page, to }: KeyListProps) => (
  <Section id={kind} title={title} aside={<Count of={total} singular="key" />}>
    {keys.length === 0 ? (
      <EmptyPage total={total}>
        <Empty title={`No ${title}`} icon="key">
          <p>{empty}</p>
        </Empty>
      </EmptyPage>
    ) : (
      <ul class="plain rows">
        {keys.map(({ id, name, details }) => (
          <li key={id} class="line">
            <Named icon="key">
              <strong>
                <bdi>{name}</bdi>
              </strong>
              <div class="small">
                <Dots facts={details} />
              </div>
            </Named>
            <Post to={`${KEYS}/delete`} fields={{ kind, id: String(id), name }}>
              <button type="submit" class="danger small" aria-label={`Delete ${name}…`}>
                Delete…
              </button>
            </Post>
          </li>
        ))}
      </ul>
    )}
    <Pages to={to} page={page} total={total} label={`Pages of the ${title}`} />
  </Section>
)
