/** A push that is durable and counted. */
export interface Push {
  /** `owner/name` */
  readonly repository: string
  readonly repositoryId: number
  /** The name of who pushed. */
  readonly pusher: string
  /** What each ref was and is: null is before it was made, and after it was deleted. */
  readonly updates: readonly {
    readonly ref: string
    readonly before: string | null
    readonly after: string | null
  }[]
  /** Bytes that the repository takes now, without LFS. */
  readonly size: number
}
