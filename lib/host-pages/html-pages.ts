/** The pages that an `html_url` can point to. */

/** The parameters of pages, with the names that templates use. */
interface Parameters {
  /** Name of the user. */
  readonly username: string
  /** Name of the organization. */
  readonly org: string
  /** Name of the user or the organization. */
  readonly owner: string
  /** Name of the repository. */
  readonly repo: string
  /** Number of the issue, or the number that the host has given to the release. */
  readonly index: number
  /** Id of the comment. */
  readonly id: number
  /** Tag of the release. */
  readonly tag: string
  /** Type of the package. */
  readonly type: string
  /** Name of the package or the artifact. */
  readonly name: string
  /** Version of the package. */
  readonly version: string
  /** Number of the CI run; 0 when the entry has none. */
  readonly run: number
  /** Key of the entry in the ledger. */
  readonly key: string
}

interface OfKind<Kind extends string> {
  /** Kind of the resource that the page shows. */
  readonly kind: Kind
}

type PageOf<Kind extends string, Names extends keyof Parameters> = OfKind<Kind> & Pick<Parameters, Names>

interface ArtifactPage extends OfKind<'artifact'>, Pick<Parameters, 'owner' | 'run' | 'name' | 'key'> {
  /** Undefined when the artifact belongs to an owner without a repository. */
  readonly repo: string | undefined
}

/**
 * A page that an `html_url` points to. A `ledgerRelease` is one that an attachment in the ledger belongs to.
 */
export type HtmlPage =
  | PageOf<'user', 'username'>
  | PageOf<'organization', 'org'>
  | PageOf<'repository', 'owner' | 'repo'>
  | PageOf<'issue', 'owner' | 'repo' | 'index'>
  | PageOf<'comment', 'owner' | 'repo' | 'index' | 'id'>
  | PageOf<'release', 'owner' | 'repo' | 'tag'>
  | PageOf<'ledgerRelease', 'owner' | 'repo' | 'index'>
  | PageOf<'package', 'owner' | 'type' | 'name' | 'version'>
  | ArtifactPage

/** The page of a user or an organization. */
export const accountPage = ({
  kind,
  name,
}: {
  readonly kind: 'user' | 'organization'
  readonly name: string
}): PageOf<'user', 'username'> | PageOf<'organization', 'org'> =>
  kind === 'organization' ? { kind, org: name } : { kind, username: name }
