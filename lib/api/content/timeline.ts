import * as v from 'valibot'
import type { TimelineItem } from '../../content/comment-lists.ts'
import { type ContentDetails, contentDetails } from '../../content/details.ts'
import type { Issue } from '../../records/schema/index.ts'
import { example, issueIndex, number, Time, text, timestamp } from '../fields.ts'
import { at } from '../route.ts'
import { resource } from '../view.ts'
import { CommentListQuery, commentQueryOf } from './comments.ts'
import { onIssue, pageIn, viewInRepository } from './found.ts'

/**
 * An event of a timeline. Members for labels, milestones and references, which Allot does not have, are left
 * out.
 */
const timelineComment = resource<ContentDetails<TimelineItem> & { readonly issue: Issue }>()({
  id: [number(9), ({ record }) => record.id],
  type: [
    example(v.picklist(['comment', 'close', 'reopen', 'change_title']), 'comment'),
    ({ record }) => ('kind' in record ? record.kind : 'comment'),
  ],
  ...onIssue,
  body: [text('A newer compiler helps.'), ({ record }) => ('kind' in record ? '' : record.body)],
  old_title: [text(''), ({ record }) => ('kind' in record && record.oldTitle) || ''],
  new_title: [text(''), ({ record }) => ('kind' in record && record.newTitle) || ''],
  created_at: [Time, ({ record }) => timestamp(record.createdAt)],
  updated_at: [Time, ({ record }) => timestamp('kind' in record ? record.createdAt : record.updatedAt)],
})

interface ItemOnIssue {
  readonly item: TimelineItem
  readonly issue: Issue
}

const itemView = viewInRepository(
  timelineComment.schema,
  async (tx, viewer, repository, found: readonly ItemOnIssue[]) => {
    const items = found.map(({ item }) => item)
    const details = await contentDetails(tx, viewer, repository, 'comment', items)
    return details.map((item, index) => ({ ...item, issue: found[index]!.issue }))
  },
  timelineComment.present,
)

export const timelineRoutes = [
  at('/repos/{owner}/{repo}/issues/{index}', {
    tag: 'issue',
    scope: 'issue',
    ids: { index: issueIndex },
  }).list('issueGetCommentsAndTimeline', '/timeline', {
    summary: 'The comments on an issue and what was done to it, the oldest first',
    query: CommentListQuery,
    of: itemView,
    run: async ({ user, repository, params: { index }, query, page, client }, { hosting }) => {
      const which = commentQueryOf(query)
      const found = await hosting.comments.timeline(user, repository, index, page, which, client())
      if (found === undefined) return undefined
      const { issue } = found
      const items = found.page.items.map((item) => ({ item, issue }))
      return pageIn({ repository: found.repository, page: { ...found.page, items } })
    },
  }),
]
