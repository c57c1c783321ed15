import type { ComponentChildren } from 'preact'
import { Link, Notice, PageHead, Section } from './components.tsx'
import type { Crumb, View } from './route.ts'

interface Secret {
  /** Title of the page. */
  readonly title: string
  /** The account or the token that the secret belongs to. */
  readonly name: string
  /** Says that it was made. */
  readonly message: string
  /** Id and title of the section. */
  readonly section: readonly [id: string, title: string]
  readonly secret: string
  /** Says how it is used. */
  readonly hint: ComponentChildren
  /** The last one leads back. */
  readonly crumbs: readonly Crumb[]
}

/** The only page that ever shows a new token, or a link that sets a password. */
export const secretView = ({ title, name, message, section, secret, hint, crumbs }: Secret): View => ({
  title,
  crumbs,
  body: (
    <>
      <PageHead title={title} subtitle={<bdi>{name}</bdi>} />
      <Notice kind="success">{message} Copy it now: it is not shown again.</Notice>
      <Section id={section[0]} title={section[1]}>
        <p>
          <code class="secret" data-copy="">
            {secret}
          </code>
        </p>
        <p class="small">{hint}</p>
        <div class="buttons">
          <Link class="button" to={crumbs.at(-1)!.to}>
            Done
          </Link>
        </div>
      </Section>
    </>
  ),
})
