/** An edit without its undefined members, which leave the record as it is. */
export const definedMembers = <T extends object>(edit: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }

/** The members of an object with these names, and no others. */
export const pick = <T extends object, K extends keyof T>(object: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.filter((name) => name in object).map((name) => [name, object[name]])) as Pick<T, K>
