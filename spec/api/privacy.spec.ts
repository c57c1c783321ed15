import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Route } from '../../lib/http/index.ts'
import { isLong } from '../support/long.ts'
import { madeBefore, type Person } from '../support/test-server.ts'
import { MARK, pathsOf } from './filled.ts'
import { all, askable, openWorld, saidBy, VIEWERS, type World, worldWithSecrets } from './privacy-worlds.ts'

const secretive = madeBefore(() => worldWithSecrets())
const open = madeBefore(() => openWorld())

const QUERIES = ['', '?limit=1', '?limit=1&page=2', '?q=o', `?q=${MARK}`, '?uid=2', '?uid=6', '?uid=7']
const SUBJECT = '?subject=size:all'

const queriesOf = (route: Route<never, never>): string[] => {
  if (route.query !== undefined && 'subject' in route.query.entries) return [SUBJECT]
  if (route.path.endsWith('/search')) return QUERIES
  return route.paging === undefined ? [''] : QUERIES.slice(0, 3)
}

describe('Private content', () => {
  for (const route of all.filter(({ method }) => method === 'GET'))
    for (const [who, of, admitted] of VIEWERS)
      it(`is in no answer of GET ${route.path} to ${who}, and in no count of it`, async () => {
        // Pages of the first list; of the others, the whole list.
        for (const [at, path] of askable(pathsOf(route.path), route, admitted).entries())
          for (const query of queriesOf(route).slice(0, at === 0 || isLong ? undefined : 1)) {
            const ask = ({ allot }: World, person: Person | undefined) =>
              allot.as(person, 'GET', path + query)
            const answer = await ask(secretive, of(secretive))
            const said = saidBy(answer)
            // Links repeat the request, and only lists of visible content have links.
            assert.ok(!said.replaceAll(query, '').includes(MARK), `${path}${query}: ${said}`)
            assert.equal(said, saidBy(await ask(open, of(open))), `${path}${query}`)
            if (path.includes(MARK)) assert.ok(answer.status >= 400, `${path}${query}: ${said}`)
            // No page of a list that is refused is shown.
            if (answer.status >= 400) break
          }
      })
})
