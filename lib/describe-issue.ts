import type * as v from 'valibot'

/**
 * Messages of validation errors. Used where a message names the member only; `http/validate.ts` and `options.ts` add what
 * they expected.
 */

/** Path of the member that an issue is about, such as `limits.all[0]`; empty for the whole value. */
export const issuePath = (issue: v.BaseIssue<unknown>): string =>
  (issue.path ?? []).reduce((path, { key }) => {
    if (typeof key === 'number') return `${path}[${key}]`
    return path === '' ? String(key) : `${path}.${key}`
  }, '')

/** Such as `limits.all[0]: Invalid type: Expected number but received "1"`. */
export const describeIssue = (issue: v.BaseIssue<unknown>): string => {
  const path = issuePath(issue)
  return path === '' ? issue.message : `${path}: ${issue.message}`
}
