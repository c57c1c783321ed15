/** The pages that an `html_url` can point to. */

interface OfKind<K extends string> {
  /** Kind of the resource that the page shows. */
  readonly kind: K
}

interface HtmlPageInRepository {
  /** Name of the user or the organization. */
  readonly owner: string
  /** Name of the repository. */
  readonly repo: string
}

interface HtmlUserPage extends OfKind<'user'> {
  /** Name of the user. */
  readonly username: string
}

interface HtmlOrganizationPage extends OfKind<'organization'> {
  /** Name of the organization. */
  readonly org: string
}

interface HtmlIssuePage extends HtmlPageInRepository, OfKind<'issue'> {
  /** Number of the issue. */
  readonly index: number
}

interface HtmlCommentPage extends HtmlPageInRepository, OfKind<'comment'> {
  /** Number of the issue. */
  readonly index: number
  /** Id of the comment. */
  readonly id: number
}

interface HtmlReleasePage extends HtmlPageInRepository, OfKind<'release'> {
  /** Tag of the release. */
  readonly tag: string
}

/** A release that an attachment in the ledger belongs to. */
interface HtmlLedgerReleasePage extends HtmlPageInRepository, OfKind<'ledgerRelease'> {
  /** The number that the host has given to the release. */
  readonly index: number
}

interface HtmlPackagePage extends OfKind<'package'> {
  /** Name of the user or the organization. */
  readonly owner: string
  /** Type of the package. */
  readonly type: string
  /** Name of the package. */
  readonly name: string
  /** Version of the package. */
  readonly version: string
}

interface HtmlArtifactPage extends OfKind<'artifact'> {
  /** Name of the user or the organization. */
  readonly owner: string
  /** Undefined when the artifact belongs to an owner without a repository. */
  readonly repo: string | undefined
  /** Number of the CI run; 0 when the entry has none. */
  readonly run: number
  /** Name of the artifact. */
  readonly name: string
  /** Key of the entry in the ledger. */
  readonly key: string
}

/** A page that an `html_url` points to. The parameters have the names that templates use. */
export type HtmlPage =
  | HtmlUserPage
  | HtmlOrganizationPage
  | (HtmlPageInRepository & OfKind<'repository'>)
  | HtmlIssuePage
  | HtmlCommentPage
  | HtmlReleasePage
  | HtmlLedgerReleasePage
  | HtmlPackagePage
  | HtmlArtifactPage

/** The page of a user or an organization. */
export const accountPage = ({
  kind,
  name,
}: {
  readonly kind: 'user' | 'organization'
  readonly name: string
}): HtmlUserPage | HtmlOrganizationPage =>
  kind === 'organization' ? { kind, org: name } : { kind, username: name }
