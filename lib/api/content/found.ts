/** Issues, comments and releases, which are found with their repository. */
import type * as v from 'valibot'
import type { Viewer } from '../../accounts/access.ts'
import type { ContentDetails } from '../../content/details.ts'
import type { Page } from '../../records/pages.ts'
import type { Account, Issue, Repository } from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { text } from '../fields.ts'
import type { Recipient } from '../route.ts'
import { presentUser, User } from '../users.ts'
import type { View } from '../view.ts'

/** Who wrote it. */
export const author = [
  User,
  (details: { readonly author: Account }, recipient: Recipient) => presentUser(details.author, recipient),
] as const

type Place = Pick<ContentDetails<unknown>, 'owner' | 'repository'>

export const pageOfIssue = (place: Place, { number }: Issue, { htmlUrls, baseUrl }: Recipient): string =>
  htmlUrls.of({ kind: 'issue', owner: place.owner.name, repo: place.repository.name, index: number }, baseUrl)

export const pageOfComment = (
  { owner, repository, record }: Place & { readonly record: { readonly id: number } },
  { number: index }: Issue,
  { htmlUrls, baseUrl }: Recipient,
): string =>
  htmlUrls.of({ kind: 'comment', owner: owner.name, repo: repository.name, index, id: record.id }, baseUrl)

/** Where a comment or an event of an issue stands, and who wrote it. */
export const onIssue = {
  html_url: [
    text('https://code.example.org/alice/app/issues/1#issuecomment-9'),
    (details: OnIssue, recipient: Recipient) => pageOfComment(details, details.issue, recipient),
  ],
  pull_request_url: [text(''), () => ''],
  issue_url: [
    text('https://code.example.org/alice/app/issues/1'),
    (details: OnIssue, recipient: Recipient) => pageOfIssue(details, details.issue, recipient),
  ],
  user: author,
} as const

type OnIssue = ContentDetails<{ readonly id: number }> & { readonly issue: Issue }

interface InRepository<R> {
  readonly repository: Repository
  readonly record: R
}

/**
 * A view of records that are all of one repository.
 * @param detailsOf reads what is not in the records
 */
export const viewInRepository = <const S extends v.GenericSchema, R, D>(
  schema: S,
  detailsOf: (
    tx: ReadTransaction,
    viewer: Viewer,
    repository: Repository,
    records: readonly R[],
  ) => Promise<D[]>,
  present: (details: D, recipient: Recipient) => v.InferOutput<S>,
): View<S, InRepository<R>> => ({
  schema,
  async all(found, recipient, read) {
    const [first] = found
    if (first === undefined) return []
    const records = found.map(({ record }) => record)
    const details = await read((tx) => detailsOf(tx, recipient.user, first.repository, records))
    return details.map((one) => present(one, recipient))
  },
})

/** What was found alone, as its view takes it. */
export const oneOf = <R, Found extends { readonly repository: Repository }>(
  found: Found | undefined,
  recordOf: (found: Found) => R,
): InRepository<R> | undefined => found && { repository: found.repository, record: recordOf(found) }

/** The page of a list, as the view of its items takes it. */
export const pageIn = <R>(
  found: { readonly repository: Repository; readonly page: Page<R> } | undefined,
): Page<InRepository<R>> | undefined =>
  found && {
    items: found.page.items.map((record) => ({ repository: found.repository, record })),
    total: found.page.total,
  }
