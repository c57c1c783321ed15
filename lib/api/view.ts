/** Views: how what a service finds is shown to who asked. */
import * as v from 'valibot'
import type { Viewer } from '../accounts/access.ts'
import type { HtmlUrls } from '../host-pages/html-urls.ts'
import type { ReadTransaction } from '../storage/index.ts'

/**
 * Who receives a representation, and the URLs that its links begin with (no trailing slash). Every request of
 * a route has these members.
 */
export type Recipient = {
  readonly user: Viewer
  readonly baseUrl: string
  readonly apiUrl: string
  readonly htmlUrls: HtmlUrls
}

/** Runs a read in the snapshot of the reply. */
export type Read = <T>(read: (tx: ReadTransaction) => Promise<T>) => Promise<T>

/** How what a service finds is shown to who asked. */
export interface Presenter<Found, Body> {
  /** Presents all of them, in their order; leaves out one that was deleted meanwhile. */
  all(found: readonly Found[], recipient: Recipient, read: Read): Body[] | Promise<Body[]>
}

/** A schema with a presenter for it: a route that is `of` a view returns what it has found. */
export interface View<S extends v.GenericSchema, Found> extends Presenter<Found, v.InferOutput<S>> {
  readonly schema: S
}

/** A view whose items are presented one by one, from what was found alone. */
export const view = <const S extends v.GenericSchema, Found>(
  schema: S,
  present: (found: Found, recipient: Recipient) => v.InferOutput<S>,
): View<S, Found> => ({ schema, all: (found, recipient) => found.map((one) => present(one, recipient)) })

/** A whole list, for a route without pages. */
export const every = <const S extends v.GenericSchema, Found>(
  item: View<S, Found>,
): View<v.ArraySchema<S, undefined>, readonly Found[]> => ({
  schema: v.array(item.schema),
  all: (lists, recipient, read) => Promise.all(lists.map(async (list) => item.all(list, recipient, read))),
})
