import assert from 'node:assert/strict'

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

/** Every path of a route, with every combination of values for its parameters. */
export const filled = (path: string): string[] => {
  const [, name] = /\{(\w+)\}/.exec(path) ?? []
  if (name === undefined) return [path]
  // There are fewer comments, releases and webhooks of a repository than accounts and teams.
  const values = VALUES[name === 'id' && path.startsWith('/repos/') ? 'contentId' : name]
  assert.ok(values, `say in VALUES what {${name}} may be`)
  return values.flatMap((value) => filled(path.replace(`{${name}}`, encodeURIComponent(value))))
}
