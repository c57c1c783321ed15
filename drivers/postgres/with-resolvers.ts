/** A promise with the functions that settle it, as `Promise.withResolvers` of Node 22 makes it. */
export const withResolvers = <T>() => {
  let resolve!: (value: T | PromiseLike<T>) => void
  let reject!: (error: Error) => void
  const promise = new Promise<T>((resolved, rejected) => {
    resolve = resolved
    reject = rejected
  })
  return { promise, resolve, reject }
}
