/** Issues, comments and releases, which are found with their repository. */
import type * as v from 'valibot'
import type { Viewer } from '../../accounts/access.ts'
import { type ContentDetails, contentDetails } from '../../content/details.ts'
import type { Page } from '../../records/pages.ts'
import type { Account, Issue, Repository } from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { link, text } from '../fields.ts'
import type { Recipient } from '../route.ts'
import { userView } from '../users.ts'
import { type Resource, shown, type View } from '../view.ts'

/** Who wrote it. */
export const author = shown(userView, ({ author }: { readonly author: Account }) => author)

type Place = Pick<ContentDetails<unknown>, 'owner' | 'repository'>

export const pageOfIssue = (place: Place, { number }: Issue, { htmlUrls, baseUrl }: Recipient): string =>
  htmlUrls.of({ kind: 'issue', owner: place.owner.name, repo: place.repository.name, index: number }, baseUrl)

const pageOfComment = (
  { owner, repository, record }: Place & { readonly record: { readonly id: number } },
  { number: index }: Issue,
  { htmlUrls, baseUrl }: Recipient,
): string =>
  htmlUrls.of({ kind: 'comment', owner: owner.name, repo: repository.name, index, id: record.id }, baseUrl)

/** Where a comment or an event of an issue stands, and who wrote it. */
export const onIssue = {
  html_url: [
    link('/alice/app/issues/1#issuecomment-9'),
    (details: OnIssue, recipient: Recipient) => pageOfComment(details, details.issue, recipient),
  ],
  pull_request_url: [text(''), () => ''],
  issue_url: [
    link('/alice/app/issues/1'),
    (details: OnIssue, recipient: Recipient) => pageOfIssue(details, details.issue, recipient),
  ],
  user: author,
} as const

type OnIssue = ContentDetails<{ readonly id: number }> & { readonly issue: Issue }

interface InRepository {
  readonly repository: Repository
}

/** Reads what is shown of comments on issues, or of other events, besides their records. */
export const detailsOnIssues = async <T extends { readonly id: number; readonly author: number }>(
  tx: ReadTransaction,
  viewer: Viewer,
  repository: Repository,
  found: readonly (InRepository & { readonly comment: T; readonly issue: Issue })[],
) => {
  const records = found.map(({ comment }) => comment)
  const details = await contentDetails(tx, viewer, repository, 'comment', records)
  return details.map((comment, index) => ({ ...comment, issue: found[index]!.issue }))
}

/**
 * A view of what is found with its repository, the same for a whole list.
 * @param detailsOf reads what is not in the records
 */
export const viewInRepository = <const S extends v.GenericSchema, F extends InRepository, D>(
  { schema, present }: Resource<S, D>,
  detailsOf: (
    tx: ReadTransaction,
    viewer: Viewer,
    repository: Repository,
    found: readonly F[],
  ) => Promise<D[]>,
): View<S, F> => ({
  schema,
  async all(found, recipient, read) {
    const [first] = found
    if (first === undefined) return []
    const details = await read((tx) => detailsOf(tx, recipient.user, first.repository, found))
    return details.map((one) => present(one, recipient))
  },
})

/** The page of a list, each item with the repository. */
export const pageIn = <F extends InRepository & { readonly page: Page<unknown> }, Item>(
  found: F | undefined,
  itemOf: (record: F['page']['items'][number], found: F) => Item,
): Page<InRepository & Item> | undefined =>
  found && {
    total: found.page.total,
    items: found.page.items.map((record) => ({ repository: found.repository, ...itemOf(record, found) })),
  }
