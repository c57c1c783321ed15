import { isDeepStrictEqual } from 'node:util'
import { now } from '../clock.ts'

/** An edit without its undefined members, which leave the record as it is. */
export const definedMembers = <T extends object>(edit: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }

/** Changes of these members of a record; absent and undefined ones stay as they are. */
export type EditOf<T, K extends keyof T> = { [Name in K]?: T[Name] | undefined }

/**
 * The members of an edit that are saved, without undefined ones. Hosts may pass objects with others, such as
 * the body of a request, which must not get into the record.
 * @param names of the members that an edit may change
 */
export const savedMembers = <T extends object, K extends keyof T>(edit: T, names: readonly K[]) =>
  definedMembers(pick(edit, names))

/** The members of an object with these names, and no others. */
export const pick = <T extends object, K extends keyof T>(object: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.filter((name) => name in object).map((name) => [name, object[name]])) as Pick<T, K>

/** The times of a new record: the same reading of the clock, or the record would look edited. */
export const creationTimes = () => {
  const createdAt = now()
  return { createdAt, updatedAt: createdAt }
}

/**
 * The record after an edit, with the time of the edit. An edit that changes nothing returns the record
 * itself: then its time stays, and there is nothing to save or to report.
 */
export const withEdit = <T extends { readonly updatedAt: number }>(
  before: T,
  edit: { readonly [K in keyof T]?: T[K] | undefined },
): T => {
  const after = { ...before, ...definedMembers(edit) }
  return isDeepStrictEqual(after, before) ? before : { ...after, updatedAt: now() }
}
