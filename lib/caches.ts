const names = new WeakMap<object, string>()

/** Gives a cache a name for whoever measures: lru-cache tells of itself on a diagnostics channel, but not who it is. */
export const namedCache = <C extends object>(name: string, cache: C): C => {
  names.set(cache, name)
  return cache
}

export const nameOfCache = (cache: object): string | undefined => names.get(cache)
