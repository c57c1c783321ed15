/** Views: how what a service finds is shown to who asked. */
import * as v from 'valibot'
import type { Viewer } from '../accounts/access.ts'
import type { HtmlUrls } from '../host-pages/html-urls.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { example } from './fields.ts'

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

/** The members of a resource: the schema of each, with an example, and where its value comes from. */
type Members<E extends v.ObjectEntries, Found> = {
  readonly [Name in keyof E]: readonly [
    schema: E[Name],
    valueIn: (found: Found, recipient: Recipient) => v.InferOutput<E[Name]>,
  ]
}

export interface Resource<S extends v.GenericSchema, Found> {
  readonly schema: S
  present(found: Found, recipient: Recipient): v.InferOutput<S>
}

/** A view that is declared member by member. */
export const resource =
  <Found>() =>
  <E extends v.ObjectEntries>(members: Members<E, Found>) => {
    const list = Object.entries(members as Members<v.ObjectEntries, Found>)
    const schema = v.object(Object.fromEntries(list.map(([name, [one]]) => [name, one])) as unknown as E)
    const names = list.map(([name]) => name)
    const values = list.map(([, [, valueIn]]) => valueIn)
    const present = (found: Found, recipient: Recipient) => {
      const shown: Record<string, unknown> = {}
      // By index, which takes V8 half as long as an iterator of pairs.
      for (let index = 0; index < names.length; index++)
        shown[names[index]!] = values[index]!(found, recipient)
      return shown as v.InferOutput<typeof schema>
    }
    return { ...view(schema, present), present }
  }

/** A member that is presented by a view of its own. */
export const shown = <S extends v.GenericSchema, Member, Found>(
  { schema, present }: Resource<S, Member>,
  memberOf: (found: Found) => Member,
) => [schema, (found: Found, recipient: Recipient) => present(memberOf(found), recipient)] as const

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

/** What the reply has in the place of the items of a list. */
export interface Wrapping<S> {
  schema(items: v.GenericSchema): v.GenericSchema
  body(items: unknown, services: S): unknown
}

/** The results of a search, which clients expect in an object. */
export const searchResults = {
  schema: (data: v.GenericSchema) => v.object({ ok: example(v.boolean(), true), data }),
  body: (data: unknown) => ({ ok: true, data }),
}
