/**
 * A promise with the functions that settle it, as `Promise.withResolvers` makes it, which Node 20 does not
 * have.
 */
export interface Deferred<T> {
  /** Settled by the functions. */
  readonly promise: Promise<T>
  /** Fulfills the promise, or lets it follow another one. */
  resolve(this: void, value: T | PromiseLike<T>): void
  /** Rejects the promise. */
  reject(this: void, error: unknown): void
}

/** Makes a promise with the functions that settle it. */
export const deferred = <T>(): Deferred<T> => {
  let settle!: Omit<Deferred<T>, 'promise'>
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, ...settle }
}
