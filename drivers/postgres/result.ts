/** What some work came to, to be given back once what the work went by is known to hold. */
export interface Outcome<T> {
  readonly isRight: boolean
  /** The value, or the error thrown. */
  give(): T
}

export const outcomeOf = async <S, T>(work: (tx: S) => Promise<T>, tx: S): Promise<Outcome<T>> => {
  try {
    const value = await work(tx)
    return { isRight: true, give: () => value }
  } catch (error) {
    return {
      isRight: false,
      give() {
        throw error
      },
    }
  }
}
