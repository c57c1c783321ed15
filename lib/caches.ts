const names = new WeakMap<object, string>()

/** Gives a cache a name for whoever measures: lru-cache tells of itself on a diagnostics channel, but not who it is. */
export const namedCache = <C extends object>(name: string, cache: C): C => {
  names.set(cache, name)
  return cache
}

export const nameOfCache = (cache: object): string | undefined => names.get(cache)

/**
 * At most so many entries. lru-cache's own `max` sets aside room for all of them at once, which is most of what a start
 * costs where few ever come.
 */
export const maxEntries = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 })
