/** A promise with the functions that settle it, as `Promise.withResolvers` makes it, which Node 20 does not have. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(this: void, value: T): void
  reject(this: void, error: unknown): void
}

export const deferred = <T>(): Deferred<T> => {
  let settle!: Omit<Deferred<T>, 'promise'>
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, ...settle }
}
