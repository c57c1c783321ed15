import assert from 'node:assert/strict'
import { isLong } from '../support/long.ts'

/** Part of every name, description, email and title of hidden content, and of nothing else. */
export const MARK = 'zqx7'

/** Values of each path parameter, visible and hidden. */
const VALUES: Record<string, string[]> = {
  username: ['alice', 'outsider', 'acme', `${MARK}-user`, `${MARK}-org`],
  owner: ['alice', 'outsider', 'acme', `${MARK}-user`, `${MARK}-org`],
  org: ['acme', 'owned', `${MARK}-org`, `${MARK}-user`],
  target: ['alice', 'outsider', `${MARK}-user`],
  repo: ['open', `${MARK}-repo`],
  reponame: ['open', `${MARK}-repo`],
  collaborator: ['alice', 'outsider', `${MARK}-user`],
  team: ['Owners', MARK],
  topic: ['git', MARK],
  id: ['1', '2', '3', '4', '5'],
  contentId: ['1', '2'],
  quotarule: [`${MARK} rule`],
  quotagroup: [`${MARK}-group`],
  kind: ['artifacts', 'repositories', 'attachments', 'packages'],
  key: [MARK],
  index: ['1', '2'],
  delivery: ['1', '2'],
  attachment_id: ['1'],
  tag: ['v1', MARK],
  type: ['generic'],
  name: ['tool', MARK],
  version: ['1'],
  token: ['spec'],
  branch: ['main', MARK],
  sha: ['main', MARK],
  ref: ['heads', `heads/${MARK}`],
  filepath: ['README.md', MARK],
  archive: ['main.zip', `${MARK}.zip`],
  rest: ['branch/main/README.md', `branch/${MARK}`],
  file: ['tool', MARK],
  uuid: [MARK],
  basehead: ['main...main', `main...${MARK}`],
}

const valuesOf = (path: string, name: string): string[] => {
  // There are fewer comments, releases and webhooks of a repository than accounts and teams.
  const values = VALUES[name === 'id' && path.startsWith('/repos/') ? 'contentId' : name]
  assert.ok(values, `say in VALUES what {${name}} may be`)
  return values
}

/** Every path of a route, with every combination of values for its parameters. */
export const filled = (path: string): string[] => {
  const [, name] = /\{(\w+)\}/.exec(path) ?? []
  if (name === undefined) return [path]
  return valuesOf(path, name).flatMap((value) => filled(path.replace(`{${name}}`, encodeURIComponent(value))))
}

/**
 * Parameters that name an account: the hidden repositories, teams and issues belong to visible accounts,
 * too.
 */
const ACCOUNTS = ['username', 'owner', 'org', 'target', 'collaborator']

/**
 * Paths of a route that differ in one parameter at most from the path of visible content, or from that of
 * what is hidden of the same accounts: few, where the number of combinations is the product of the numbers
 * of values.
 */
export const varied = (path: string): string[] => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const visible = names.map((name) => valuesOf(path, name)[0]!)
  const hidden = names.map((name, at) => {
    const marked = valuesOf(path, name).find((value) => value.includes(MARK))
    return ACCOUNTS.includes(name) || marked === undefined ? visible[at]! : marked
  })
  const fill = (values: readonly string[]) =>
    names.reduce((text, name, at) => text.replace(`{${name}}`, encodeURIComponent(values[at]!)), path)
  const near = [visible, hidden].flatMap((base) => [
    base,
    ...names.flatMap((name, at) => valuesOf(path, name).map((value) => base.with(at, value))),
  ])
  return [...new Set(near.map(fill))]
}

/** The paths of a route that the specs of all routes ask for. */
export const pathsOf = isLong ? filled : varied
