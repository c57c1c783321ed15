import assert from 'node:assert/strict'

/** In the name, the description, the email, the title of everything that is hidden, and nowhere else. */
export const MARK = 'zqx7'

/** What each parameter of a path may be, open and hidden. */
const VALUES: Record<string, string[]> = {
  username: ['alice', 'outsider', 'acme', `${MARK}-user`, `${MARK}-org`],
  owner: ['alice', 'outsider', 'acme', `${MARK}-user`, `${MARK}-org`],
  org: ['acme', 'owned', `${MARK}-org`, `${MARK}-user`],
  target: ['alice', 'outsider', `${MARK}-user`],
  repo: ['open', `${MARK}-repo`],
  reponame: ['open', `${MARK}-repo`],
  id: ['1', '2', '3', '4', '5'],
  quotarule: [`${MARK} rule`],
  quotagroup: [`${MARK}-group`],
  kind: ['artifacts', 'repositories', 'attachments', 'packages'],
  key: [MARK],
  index: ['1', '2'],
  attachment_id: ['1'],
  tag: ['v1', MARK],
  type: ['generic'],
  name: ['tool', MARK],
  version: ['1'],
  token: ['spec'],
}

/** Every path of a route, with each of its parameters filled in each way. */
export const filled = (path: string): string[] => {
  const [, name] = /\{(\w+)\}/.exec(path) ?? []
  if (name === undefined) return [path]
  const values = VALUES[name]
  assert.ok(values, `say in VALUES what {${name}} may be`)
  return values.flatMap((value) => filled(path.replace(`{${name}}`, encodeURIComponent(value))))
}
