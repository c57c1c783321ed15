/** Paths of the pages of groups and rules, to which the pages of storage and of accounts link. */

export const groupPath = (name: string): string => `/-/admin/group?name=${encodeURIComponent(name)}`
export const rulePath = (name: string): string => `/-/admin/rule?name=${encodeURIComponent(name)}`
