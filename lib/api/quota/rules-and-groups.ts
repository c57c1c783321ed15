import * as v from 'valibot'
import { HISTORY_DAYS } from '../../quota/usage.ts'
import { givenLimit, groupName, ruleName } from '../fields.ts'
import { done } from '../kit.ts'
import { adminRules } from '../route.ts'
import { User } from '../users.ts'
import {
  AnySubjectQuery,
  groupView,
  HistoryQuery,
  presentExplanation,
  presentHistory,
  presentStatus,
  QuotaExplanationInfo,
  QuotaHistory,
  QuotaInfo,
  ruleView,
  Subjects,
} from './schema.ts'
import { quotaAt } from './services.ts'

/** An existing rule is added to the group unchanged; a new one is created, and needs its limit. */
const NewOrExistingRule = v.object({
  name: ruleName,
  limit: v.optional(givenLimit),
  subjects: v.optional(Subjects),
})
/** The name alone is enough for an existing rule, as in a plan. */
const RuleInGroup = v.union([ruleName, NewOrExistingRule])
const CreateQuotaGroupOptions = v.object({
  name: groupName,
  rules: v.optional(v.pipe(v.array(RuleInGroup), v.maxLength(100))),
})

const groups = quotaAt('/admin/quota/groups', adminRules)
const ofOwner = quotaAt('/admin/users/{username}/quota', adminRules)

export const quotaGroupRoutes = [
  groups.list('adminListQuotaGroups', '', {
    summary: 'The quota groups',
    paging: 'whole',
    of: groupView,
    run: ({ page }, { quota }) => quota.groups.list(page),
  }),
  groups.post('adminCreateQuotaGroup', '', {
    summary: 'Create a quota group, with the rules that do not exist yet',
    body: CreateQuotaGroupOptions,
    of: groupView,
    also: [409],
    run: ({ body, user }, { quota }) => {
      const rules = (body.rules ?? []).map((rule) =>
        typeof rule === 'string' ? rule : { ...rule, subjects: rule.subjects ?? [] },
      )
      return quota.groups.create({ name: body.name, rules }, user)
    },
  }),
  groups.get('adminGetQuotaGroup', '/{quotagroup}', {
    summary: 'A quota group',
    of: groupView,
    run: ({ params }, { quota }) => quota.groups.get(params.quotagroup),
  }),
  groups.delete('adminDeleteQuotaGroup', '/{quotagroup}', {
    summary: 'Delete a quota group, and take it from everyone who has it; its rules stay',
    run: ({ params, user }, { quota }) => quota.groups.remove(params.quotagroup, user),
  }),
  groups.put('adminAddRuleToQuotaGroup', '/{quotagroup}/rules/{quotarule}', {
    summary: 'Put a rule into a group',
    // The rule is already in the group.
    also: [409],
    run: ({ params, user }, { quota }) =>
      done(quota.groups.addRule(params.quotagroup, params.quotarule, user)),
  }),
  groups.delete('adminRemoveRuleFromQuotaGroup', '/{quotagroup}/rules/{quotarule}', {
    summary: 'Take a rule out of a group',
    run: ({ params, user }, { quota }) =>
      done(quota.groups.removeRule(params.quotagroup, params.quotarule, user)),
  }),
  groups.list('adminListUsersInQuotaGroup', '/{quotagroup}/users', {
    summary: 'The users and organizations that a group is assigned to',
    of: User,
    run: async (request, { quota, owners }) => {
      const members = await quota.groups.members(request.params.quotagroup, request.page)
      if (members === undefined) return undefined
      const users = await owners.present(members.items, request)
      return { items: [...users.values()], total: members.total }
    },
  }),
  groups.put('adminAddUserToQuotaGroup', '/{quotagroup}/users/{username}', {
    summary: 'Assign a group to a user or an organization',
    // The user is already in the group.
    also: [409],
    run: ({ params, user }, { quota, owners }) =>
      done(quota.groups.assign((tx) => owners.directory.claim(tx, params.username), params.quotagroup, user)),
  }),
  groups.delete('adminRemoveUserFromQuotaGroup', '/{quotagroup}/users/{username}', {
    summary: 'Take a group from a user or an organization',
    run: ({ params, user }, { quota, owners }) =>
      done(
        quota.groups.unassign((tx) => owners.directory.find(tx, params.username), params.quotagroup, user),
      ),
  }),
  ofOwner.get('adminGetUserQuota', '', {
    summary: "A user's or an organization's usage, and the groups it is judged by",
    of: QuotaInfo,
    run: async ({ user, params }, { owners, quota }) => {
      const account = await owners.find(user, params.username)
      return account && presentStatus(await quota.statuses.of(account.id), true)
    },
  }),
  ofOwner.get('adminExplainUserQuota', '/explain', {
    summary:
      'Why a user or an organization is, or is not, over quota for a subject; without one, for the subject with the fewest bytes left',
    query: AnySubjectQuery,
    of: QuotaExplanationInfo,
    run: async ({ user, params, query }, { owners, quota }) => {
      const account = await owners.find(user, params.username)
      return account && presentExplanation(await quota.explain(account.id, query.subject), true)
    },
  }),
  ofOwner.get('adminGetUserQuotaHistory', '/history', {
    summary: `A user's or an organization's usage at the end of each day on which it changed, for up to ${HISTORY_DAYS} days`,
    query: HistoryQuery,
    of: QuotaHistory,
    run: async ({ user, params, query }, { owners, quota }) => {
      const account = await owners.find(user, params.username)
      return account && presentHistory(await quota.history(account.id, query.days))
    },
  }),
  ofOwner.post('adminSetUserQuotaGroups', '/groups', {
    summary: "Set the whole list of a user's or an organization's groups",
    body: v.object({ groups: v.pipe(v.array(groupName), v.maxLength(100)) }),
    run: ({ params, body, user }, { quota, owners }) =>
      done(quota.groups.setFor((tx) => owners.directory.claim(tx, params.username), body.groups, user)),
  }),
]

/** Bytes; -1 is unlimited. A fraction, a string, or a number beyond ±(2^53-1) is answered 422. */
const CreateQuotaRuleOptions = v.object({
  name: ruleName,
  limit: givenLimit,
  subjects: v.optional(Subjects),
})
/** An omitted member leaves its attribute as it is. The name of a rule cannot change. */
const EditQuotaRuleOptions = v.object({
  limit: v.optional(givenLimit),
  subjects: v.optional(Subjects),
})

const rules = quotaAt('/admin/quota/rules', adminRules)

export const quotaRuleRoutes = [
  rules.list('adminListQuotaRules', '', {
    summary: 'The quota rules',
    paging: 'whole',
    of: ruleView,
    run: ({ page }, { quota }) => quota.rules.list(page),
  }),
  rules.post('adminCreateQuotaRule', '', {
    summary: 'Create a quota rule',
    body: CreateQuotaRuleOptions,
    of: ruleView,
    also: [409],
    run: ({ body, user }, { quota }) => quota.rules.create({ ...body, subjects: body.subjects ?? [] }, user),
  }),
  rules.get('adminGetQuotaRule', '/{quotarule}', {
    summary: 'A quota rule',
    of: ruleView,
    run: ({ params }, { quota }) => quota.rules.get(params.quotarule),
  }),
  rules.patch('adminEditQuotaRule', '/{quotarule}', {
    summary: 'Change the limit or the subjects of a quota rule',
    body: EditQuotaRuleOptions,
    needsBody: true,
    of: ruleView,
    exists: async ({ quotarule }, { quota }) => (await quota.rules.get(quotarule)) !== undefined,
    run: ({ params, body, user }, { quota }) => quota.rules.edit(params.quotarule, body, user),
  }),
  rules.delete('adminDeleteQuotaRule', '/{quotarule}', {
    summary: 'Delete a quota rule',
    run: ({ params, user }, { quota }) => quota.rules.remove(params.quotarule, user),
  }),
]
