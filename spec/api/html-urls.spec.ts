import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { type AllotOptions, createAllot, type HtmlPage } from '../../lib/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { start, type TestServer } from '../support/test-server.ts'

const HOST = 'https://code.example.org'

/** A template for each kind of page, none of which has the path that Allot has for it. */
const TEMPLATES = {
  user: `${HOST}/people/{username}`,
  organization: `${HOST}/teams/{org}`,
  repository: `${HOST}/{owner}/{repo}/tree`,
  issue: `${HOST}/tickets?in={owner}/{repo}&n={index}`,
  comment: `${HOST}/tickets/{owner}/{repo}/{index}/{id}`,
  release: `${HOST}/{owner}/{repo}/versions/{tag}`,
  ledgerRelease: `${HOST}/{owner}/{repo}/versions/by-number/{index}`,
  package: `${HOST}/{owner}/registry/{type}/{name}/{version}`,
  artifact: `${HOST}/{owner}/{repo}/builds/{run}/{name}?key={key}`,
}

const FORM = { 'content-type': 'multipart/form-data; boundary=xyzzy' }
const FILE =
  '--xyzzy\r\nContent-Disposition: form-data; name="attachment"; filename="a.txt"\r\n\r\na\r\n--xyzzy--\r\n'

/**
 * Creates one of each resource that has an `html_url`, and reads all of them.
 * @returns the URLs by kind
 */
const readUrls = async (allot: TestServer): Promise<object> => {
  const ann = await allot.person('ann')
  const send = (method: string, path: string, body?: unknown) => allot.done(ann, method, path, body)
  await send('POST', '/orgs', { username: 'acme' })
  const ofOrganization = await send('POST', '/orgs/acme/repos', { name: 'engine' })
  await send('POST', '/user/repos', { name: 'demo' })
  await send('POST', '/repos/ann/demo/issues', { title: 'It breaks' })
  const comment = await send('POST', '/repos/ann/demo/issues/1/comments', { body: 'Indeed' })
  const release = await send('POST', '/repos/ann/demo/releases', { tag_name: 'v1/ä' })
  for (const path of ['issues/1', `issues/comments/${comment.id}`, `releases/${release.id}`])
    await allot.request('POST', `/repos/ann/demo/${path}/assets`, {
      token: ann.token,
      body: FILE,
      headers: FORM,
    })
  const { ledger } = allot.allot
  const repository = 'ann/demo'
  const file = { repository, name: 'a b', size: 1 }
  for (const on of ['issue', 'release'] as const)
    await ledger.put({ ...file, kind: 'attachments', key: on, on, index: 42 })
  await ledger.put({ ...file, kind: 'artifacts', key: 'bucket/ä', run: 7 })
  await ledger.put({
    kind: 'packages',
    key: 'p',
    owner: 'ann',
    name: '@a/b',
    size: 1,
    type: 'npm',
    version: '1',
  })
  const upload = await fetch(`${allot.base}/api/packages/ann/generic/tool/2/file`, {
    method: 'PUT',
    headers: { authorization: `token ${ann.token}` },
    body: 'x',
  })
  assert.equal(upload.status, 201)
  const attachments: { contained_in: { html_url: string } }[] = await send('GET', '/user/quota/attachments')
  const listed = attachments.map(({ contained_in }) => contained_in.html_url).sort()
  const issue = await send('GET', '/repos/ann/demo/issues/1')
  const [registered] = await send('GET', '/packages/ann')
  return {
    user: (await send('GET', '/user')).html_url,
    otherUser: (await send('GET', '/users/root')).html_url,
    organization: ofOrganization.owner.html_url,
    repository: (await send('GET', '/repos/ann/demo')).html_url,
    repositoryInList: (await send('GET', '/user/repos'))[0].html_url,
    repositoryInSearch: (await send('GET', '/repos/search?q=demo')).data[0].html_url,
    issue: issue.html_url,
    author: issue.user.html_url,
    comment: (await send('GET', `/repos/ann/demo/issues/comments/${comment.id}`)).html_url,
    issueOfComment: comment.issue_url,
    release: (await send('GET', '/repos/ann/demo/releases/latest')).html_url,
    package: registered.html_url,
    packages: (await send('GET', '/user/quota/packages'))
      .map((item: { html_url: string }) => item.html_url)
      .sort(),
    artifact: (await send('GET', '/user/quota/artifacts'))[0].html_url,
    attachments: listed,
    cloneUrl: (await send('GET', '/repos/ann/demo')).clone_url,
  }
}

const urlsWith = async (options: Partial<AllotOptions>): Promise<{ urls: object; base: string }> => {
  const allot = await start({ repositories: false, ...options })
  try {
    return { urls: await readUrls(allot), base: allot.base }
  } finally {
    await allot.stop()
  }
}

describe('Every html_url', () => {
  it('follows the template of its kind', async () => {
    const { urls, base } = await urlsWith({ htmlUrls: TEMPLATES })
    const issue = `${HOST}/tickets?in=ann/demo&n=`
    const release = `${HOST}/ann/demo/versions/v1/%C3%A4`
    const [npm, generic] = ['npm/%40a%2Fb/1', 'generic/tool/2'].map((path) => `${HOST}/ann/registry/${path}`)
    assert.deepEqual(urls, {
      user: `${HOST}/people/ann`,
      otherUser: `${HOST}/people/root`,
      organization: `${HOST}/teams/acme`,
      repository: `${HOST}/ann/demo/tree`,
      repositoryInList: `${HOST}/acme/engine/tree`,
      repositoryInSearch: `${HOST}/ann/demo/tree`,
      issue: `${issue}1`,
      author: `${HOST}/people/ann`,
      comment: `${HOST}/tickets/ann/demo/1/1`,
      issueOfComment: `${issue}1`,
      release,
      package: generic,
      packages: [generic, npm],
      artifact: `${HOST}/ann/demo/builds/7/a%20b?key=bucket%2F%C3%A4`,
      attachments: [
        release,
        `${HOST}/ann/demo/versions/by-number/42`,
        `${HOST}/tickets/ann/demo/1/1`,
        `${issue}1`,
        `${issue}42`,
      ].sort(),
      cloneUrl: `${base}/ann/demo.git`,
    })
  })

  it('has the path of Forgejo below the URL of the service without a template', async () => {
    const { urls, base } = await urlsWith({})
    const page = `${base}/ann/demo`
    const [npm, generic] = ['npm/%40a%2Fb/1', 'generic/tool/2'].map(
      (path) => `${base}/ann/-/packages/${path}`,
    )
    assert.deepEqual(urls, {
      user: `${base}/ann`,
      otherUser: `${base}/root`,
      organization: `${base}/acme`,
      repository: page,
      repositoryInList: `${base}/acme/engine`,
      repositoryInSearch: page,
      issue: `${page}/issues/1`,
      author: `${base}/ann`,
      comment: `${page}/issues/1#issuecomment-1`,
      issueOfComment: `${page}/issues/1`,
      release: `${page}/releases/tag/v1/%C3%A4`,
      package: generic,
      packages: [generic, npm],
      artifact: `${page}/actions/runs/7`,
      attachments: [
        `${page}/issues/1`,
        `${page}/issues/1#issuecomment-1`,
        `${page}/issues/42`,
        `${page}/releases/42`,
        `${page}/releases/tag/v1/%C3%A4`,
      ],
      cloneUrl: `${page}.git`,
    })
  })

  for (const [mount, at] of [
    [{ pages: '/storage' }, '/storage'],
    [{ prefix: '/code', pages: '/storage' }, '/code/storage'],
    [{ prefix: '/code', pages: '/' }, '/code'],
    [{}, ''],
  ] as const)
    it(`leads to the pages where a listener has them: ${JSON.stringify(mount)}`, async () => {
      const allot = await createAllot({ driver: memory(), repositories: false })
      const { origin, stop } = await listen(allot.listener(mount))
      const root = await allot.accounts.createUser({ name: 'root' })
      await allot.repositories.create(root, root, { name: 'app' })
      const api = `${origin}${'prefix' in mount ? mount.prefix : ''}/api/v1`
      const { html_url, owner } = await (await fetch(`${api}/repos/root/app`)).json()
      assert.deepEqual([html_url, owner.html_url], [`${origin}${at}/root/app`, `${origin}${at}/root`])
      for (const url of 'pages' in mount ? [html_url, owner.html_url] : [])
        assert.equal((await fetch(url)).status, 200, url)
      await stop()
      await allot.close()
    })

  it('leads to the pages of a repository that is named as a path of the API', async () => {
    const repositories = { directory: temporaryDirectory() }
    const allot = await createAllot({ driver: memory(), repositories })
    const { origin, stop } = await listen(allot.listener({ pages: '/storage' }))
    const root = await allot.accounts.createUser({ name: 'root' })
    await allot.repositories.create(root, root, { name: 'archive' })
    const { status, headers } = await fetch(`${origin}/storage/root/archive/issues`)
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/html;charset=utf-8'])
    await stop()
    await allot.close()
  })

  it('leads to the pages from the moment on at which they are mounted, in replies that were kept before, too', async () => {
    const allot = await createAllot({ driver: memory(), repositories: false })
    const root = await allot.accounts.createUser({ name: 'root' })
    await allot.repositories.create(root, root, { name: 'app' })
    const urlOf = async (mount: object) => {
      const url = 'http://code.example.org/api/v1/repos/root/app'
      return (await (await allot.fetch(new Request(url), mount)).json()).html_url
    }
    for (const [mount, path] of [
      [{}, ''],
      [{ pages: '/storage' }, '/storage'],
      [{ pages: '/files/' }, '/files'],
      [{}, '/files'],
    ] as const)
      for (const _again of [1, 2])
        assert.equal(await urlOf(mount), `http://code.example.org${path}/root/app`, JSON.stringify(mount))
    await allot.close()
  })

  it('leads to the path of the option, whatever a listener has', async () => {
    const htmlUrls = { pages: '/elsewhere' }
    const allot = await createAllot({ driver: memory(), repositories: false, htmlUrls })
    const { origin, stop } = await listen(allot.listener({ pages: '/storage' }))
    await allot.accounts.createUser({ name: 'root' })
    const { html_url } = await (await fetch(`${origin}/api/v1/users/root`)).json()
    assert.equal(html_url, `${origin}/elsewhere/root`)
    await stop()
    await allot.close()
  })

  it('of a comment is below that of its issue when only the issue has a template', async () => {
    const { urls } = await urlsWith({ htmlUrls: { issue: `${HOST}/{owner}/{repo}/{index}` } })
    assert.equal((urls as { comment: string }).comment, `${HOST}/ann/demo/1#issuecomment-1`)
  })

  it('is below the configured URL of the service when its template is a path', async () => {
    const { urls } = await urlsWith({ baseUrl: `${HOST}/git`, htmlUrls: { user: '/~{username}' } })
    assert.equal((urls as { user: string }).user, `${HOST}/git/~ann`)
  })

  it("comes from the host's function, and from the template where the function returns undefined", async () => {
    const kinds = new Set<string>()
    const htmlUrl = (page: HtmlPage) => {
      kinds.add(page.kind)
      if (page.kind === 'issue') return `${HOST}/t/${page.owner}-${page.repo}-${page.index}`
      return page.kind === 'user' && page.username === 'root' ? `${HOST}/chief` : undefined
    }
    const { urls } = await urlsWith({ htmlUrl, htmlUrls: TEMPLATES })
    const { user, otherUser, issue, issueOfComment, repository } = urls as Record<string, string>
    assert.deepEqual(
      { user, otherUser, issue, issueOfComment, repository },
      {
        user: `${HOST}/people/ann`,
        otherUser: `${HOST}/chief`,
        issue: `${HOST}/t/ann-demo-1`,
        issueOfComment: `${HOST}/t/ann-demo-1`,
        repository: `${HOST}/ann/demo/tree`,
      },
    )
    assert.deepEqual([...kinds].sort(), Object.keys(TEMPLATES).sort())
  })
})

describe('The html_url of an entry', () => {
  it('replaces what is not valid Unicode text in its name', async () => {
    const allot = await start({ repositories: false })
    const item = { owner: 'root', name: 'x\ud800', size: 1, type: 'npm', version: '1' }
    await allot.allot.ledger.put({ kind: 'packages', key: 'p', ...item })
    const { body } = await allot.as(allot.root, 'GET', '/user/quota/packages')
    assert.equal(body[0].html_url, `${allot.base}/root/-/packages/npm/x%EF%BF%BD/1`)
  })
})

describe('The html_url of an artifact without a repository', () => {
  for (const [artifact, expected] of [
    [`${HOST}/{owner}/{run}/{key}`, `${HOST}/root/3/b%2F1`],
    [`${HOST}/{owner}/{repo}/{key}`, ''],
    [undefined, ''],
  ] as const)
    it(`is ${JSON.stringify(expected)} with the template ${artifact}`, async () => {
      const allot = await start({ repositories: false, htmlUrls: artifact === undefined ? {} : { artifact } })
      await allot.allot.ledger.put({
        kind: 'artifacts',
        key: 'b/1',
        owner: 'root',
        name: 'a',
        size: 1,
        run: 3,
      })
      assert.equal((await allot.as(allot.root, 'GET', '/user/quota/artifacts')).body[0].html_url, expected)
    })
})

describe("The host's function for html_url", () => {
  for (const [what, htmlUrl] of Object.entries<() => string>({
    'a path': () => '/ann',
    'a script': () => 'javascript:alert(1)',
    'a promise': (async () => HOST) as unknown as () => string,
    null: (() => null) as unknown as () => string,
    'a URL with a space': () => `${HOST}/a b`,
  }))
    it(`that returns ${what} makes the request fail, and the log says what it must return`, async () => {
      const logged: string[] = []
      const allot = await start({
        repositories: false,
        htmlUrl,
        log: {
          error: ({ err }: { err?: Error }) => void logged.push(String(err?.message)),
          info: () => undefined,
        },
      })
      assert.equal((await allot.as(allot.root, 'GET', '/user')).status, 500)
      assert.match(
        logged.join(),
        /^htmlUrl must return undefined or a URL that begins with https:\/\/.*kind user$/,
      )
    })
})

/** Templates that are refused, each with the sentence that says why. */
const BAD: readonly [option: string, template: unknown, message: string][] = [
  ['user', `${HOST}/{owner}`, 'unknown placeholder {owner}, expected one of: {username}'],
  ['organization', `${HOST}/{name}`, 'unknown placeholder {name}, expected one of: {org}'],
  [
    'issue',
    `${HOST}/{owner}/{repo}/{number}`,
    'unknown placeholder {number}, expected one of: {owner}, {repo}, {index}',
  ],
  [
    'issue',
    `${HOST}/{owner}/{ repo }`,
    'unknown placeholder { repo }, expected one of: {owner}, {repo}, {index}',
  ],
  ['issue', `${HOST}/ {owner}`, 'must not contain spaces, control characters or \\'],
  ['issue', `${HOST}/{Owner}`, 'unknown placeholder {Owner}, expected one of: {owner}, {repo}, {index}'],
  ['issue', `${HOST}/{}`, 'unknown placeholder {}, expected one of: {owner}, {repo}, {index}'],
  ['issue', `${HOST}/{owner`, '{ and } must enclose the name of a placeholder'],
  ['issue', `${HOST}/owner}`, '{ and } must enclose the name of a placeholder'],
  ['issue', `${HOST}/{{owner}}`, '{ and } must enclose the name of a placeholder'],
  ['repository', 'https://{owner}.example.org/{repo}', 'placeholders must come after the host'],
  ['repository', 'https://code.example.org:{repo}/', 'placeholders must come after the host'],
  ...[
    '',
    'code.example.org/{owner}',
    'javascript:alert("{owner}")',
    '//code.example.org/{owner}',
    'ftp://code.example.org/{owner}',
    'https://',
    'https:///{owner}',
    'https://user:password@code.example.org/{owner}',
    'https://code.example.org:99999/{owner}',
  ].map((template): [string, string, string] => [
    'repository',
    template,
    'expected a URL that begins with https:// or http:// and a host, or with / for a path of the service',
  ]),
  ['artifact', 'https://code.example.org/a\\{run}', 'must not contain spaces, control characters or \\'],
  ['artifact', 'https://code.example.org/\u0000{run}', 'must not contain spaces, control characters or \\'],
  ['release', 7, 'expected a string, received the number 7'],
  [
    'pull',
    `${HOST}/{owner}`,
    `there is no such option; expected one of: ${[
      ...['pages', 'user', 'organization', 'repository', 'issue', 'comment', 'release', 'ledgerRelease'],
      ...['package', 'artifact'],
    ]
      .map((name) => `htmlUrls.${name}`)
      .join(', ')}`,
  ],
  ...['/storage/', 'storage', HOST].map((path): [string, string, string] => [
    'pages',
    path,
    'expected a path such as /storage, without a slash at the end',
  ]),
]

const NO_URL =
  'expected a URL that begins with https:// or http:// and a host, such as https://people.example.org/{username}.png'

describe('A template of pictures', () => {
  for (const [template, message] of [
    [`${HOST}/{owner}.png`, 'unknown placeholder {owner}, expected one of: {username}'],
    ['/people/{username}.png', NO_URL],
    ['https://a;b/{username}', NO_URL],
    ['https://{username}.example.org/', 'placeholders must come after the host'],
  ] as const)
    it(`is refused at the start: avatarUrl = ${JSON.stringify(template)}`, async () => {
      await assert.rejects(createAllot({ driver: memory(), repositories: false, avatarUrl: template }), {
        code: 'invalid',
        message: `avatarUrl: ${message}`,
      })
    })
})

describe('A template', () => {
  for (const [option, template, message] of BAD)
    it(`is refused at the start: ${option} = ${JSON.stringify(template)}`, async () => {
      const htmlUrls = { [option]: template } as AllotOptions['htmlUrls']
      await assert.rejects(createAllot({ driver: memory(), repositories: false, htmlUrls }), {
        code: 'invalid',
        message: `htmlUrls.${option}: ${message}`,
      })
    })

  it('in the configuration file is named with its key', async () => {
    const { readConfig } = await import('../../bin/config/config.ts')
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, '[html_urls]\nledger_release = "/{tag}"\nuser = "/~{username}"\n')
    assert.throws(() => readConfig(file), {
      message: `${file}:\n  html_urls.ledger_release: unknown placeholder {tag}, expected one of: {owner}, {repo}, {index}`,
    })
  })
})
